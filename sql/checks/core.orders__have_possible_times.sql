-- Every time of an order is within [business_day] first_year to last_year; another counts as not stated.
-- severity: warning
select
    order_id as entity_id,
    split_part(impossible_times[1], ': ', 1) as location,
    array_to_string(impossible_times, '; ') as detail,
from core.orders
where impossible_times is not null
