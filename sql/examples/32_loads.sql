-- What was loaded when?
select
    load_id,
    kind,
    source,
    started_at,
    accepted_count,
    unchanged_count,
    quarantined_count,
from audit.loads
order by started_at desc nulls last, load_id desc
limit 20
