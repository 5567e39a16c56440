-- One row per key and stretch of time in which rows say other than before.
with steps as (
    select $said, at_time, sum(step) as step from ($events) group by all
),
running as (
    select
        $key,
        at_time as span_from,
        lead(at_time) over in_time as span_until,
        sum(step) over (in_time rows unbounded preceding) as more,
    from steps
    window in_time as (partition by $said order by at_time)
)

select distinct $key, span_from, span_until
from running
where more <> 0 and span_until is not null
