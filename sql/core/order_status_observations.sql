-- One row per run of versions of an order with the same status.
--
-- Source: core.order_versions.
-- Caveats: a status that came and went between two observations is not here, and the time of a change is known only to
-- lie between previous_last_seen_at and first_seen_at. Nothing is inferred beyond that.
--
-- key: order_id, observation_no
-- scope: order
-- template: status_runs
--
-- observation_no: The run's place among those of the order, from 1.
-- previous_status: The status of the run before; null in the first run, and where it was null.
-- is_change: Whether another status was seen before: all runs but the first.
select order_id, version_no, status, first_seen_at, last_seen_at,
from core.order_versions
