-- Over all orders, attach rates count every modifier, and no line more often than it is there.
-- severity: blocking
-- scope: all
with

rates as (
    select
        coalesce(sum(modifier_count), 0) as modifier_count,
        count(*) filter (where attached_line_count > line_count) as wrong_count,
    from mart.modifier_attach_rates
),

modifiers as (
    select count(*) as modifier_count from core.order_line_modifiers
)

select
    cast(null as bigint) as entity_id,
    'all orders' as location,
    rates.modifier_count - modifiers.modifier_count || ' modifiers too many' as detail,
from rates
cross join modifiers
where rates.modifier_count <> modifiers.modifier_count or rates.wrong_count > 0
