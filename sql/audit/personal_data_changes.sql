-- One row per observation of an order in which nothing but personal data changed.
--
-- Source: raw.observations. The values, old and new, are encrypted in the vault; only the fields' names are here.
-- Caveats: such an observation is 'unchanged' and makes no new version of the order: a value was replaced by another.
-- One that came or went makes a version, and core.order_changes names its field.
--
-- key: load_id, seq
-- scope: load
-- join audit.loads (load_id): a change has its load
--
-- load_id: The load of that observation.
-- order_id null
-- changed_fields not null: The names of the personal fields that changed.
-- observed_at TIMESTAMPTZ null: When it was observed; null for an archive of unknown time.
select load_id, seq, id as order_id, changed_personal as changed_fields, observed_at,
from raw.observations
where kind = 'orders' and verdict = 'unchanged' and len(changed_personal) > 0
