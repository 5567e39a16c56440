-- Which store became inactive?
select
    store_id,
    inactive_from_date,
    inactive_to_date,
    day_count,
    expected_order_count,
from audit.inactive_periods
where is_ongoing
order by day_count desc, store_id
