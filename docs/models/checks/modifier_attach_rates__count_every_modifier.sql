-- Attach rates count every modifier, and no line more often than it is there.
-- severity: blocking
select
    coalesce(sum(modifier_count), 0) as modifier_count,
    coalesce(sum(greatest(attached_line_count - line_count, 0)), 0) as excess_count,
from own.modifier_attach_rates
except
select
    count(*) as modifier_count,
    0 as excess_count,
from core.order_line_modifiers
