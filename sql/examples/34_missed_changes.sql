-- How many changes of old orders are missed?
select
    planned_at,
    sampled_count,
    changed_count,
    changed_rate,
    changed_rate_low,
    changed_rate_high,
from audit.plans
order by plan_no desc
