-- What was quarantined, and why?
select
    kind,
    reason,
    pointer,
    count(*) as document_count,
    min(entity_id) as example_id,
from audit.quarantine
where is_unresolved
group by all
order by document_count desc, kind, reason, pointer
