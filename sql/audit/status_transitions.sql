-- One row per kind of status, and change of it that was observed.
--
-- Source: workings.daily_status_transitions.
-- Caveats: it is what was seen, not what the service allows: transitions that no row shows may exist, and two statuses
-- seen one after the other need not follow each other.
--
-- key: entity_type, previous_status, status
--
-- status: The status seen after; null where the service gave none.
-- first_seen_at: When such a transition was first seen; null if only archives of unknown time show it.
-- last_seen_at: When such a change was last seen; null likewise.
-- example_id: An order in which it was seen.
select
    entity_type, previous_status, status,
    cast(sum(occurrence_count) as bigint) as occurrence_count,
    min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at, min(example_id) as example_id,
from workings.daily_status_transitions
group by entity_type, previous_status, status
