-- One row per position of a delivery record in an order, and run of versions with the same id and status.
--
-- Source: core.order_versions.
-- Caveats: records are identified by position, since their ids are not promised to be unique: when a position has
-- another id, a new record begins. Times are as in core.order_status_observations.
--
-- key: order_id, delivery_no, observation_no
-- scope: order
-- template: status_runs with delivery_id
--
-- observation_no: The run's place among those of the same place, from 1.
-- status: The delivery's status, as sent (the interface's example: confirmed; audit.vocabulary has the values seen).
-- previous_status: The status of the same record in the run before; null where there is none, and where it was null.
-- is_change: Whether the same record was seen with another status in the run before.
select
    order_id, version_no,
    generate_subscripts(delivery_statuses, 1) as delivery_no,
    unnest(delivery_ids) as delivery_id,
    unnest(delivery_statuses) as status,
    first_seen_at, last_seen_at,
from core.order_versions
