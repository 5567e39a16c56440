-- Which store became inactive?
from audit.inactive_periods
where is_ongoing
order by day_count desc, store_id
