-- Which statuses follow which?
from audit.status_transitions
order by entity_type, occurrence_count desc, previous_status, status
