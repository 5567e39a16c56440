-- What was requested, with which result and cost?
select
    kind,
    outcome,
    http_status,
    count(*) as request_count,
    median(duration_ms) as median_ms,
from audit.fetches
group by all
order by request_count desc, kind, outcome, http_status
