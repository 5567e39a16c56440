-- Which statuses follow which?
select
    entity_type,
    previous_status,
    status,
    occurrence_count,
from audit.status_transitions
order by entity_type, occurrence_count desc, previous_status, status
