-- One row per version of an order: a run of observations of the same content, A, B, A being three.
--
-- Source: every document of the order that was ever accepted, and all observations of it.
-- Caveats: a version that came and went between two observations was never seen. The times are those of observation,
-- not of the change. A personal value replaced by another makes no version: see audit.personal_data_changes.
--
-- key: order_id, version_no
-- scope: order
-- join mart.orders (order_id): a version has its order; its money repeats: do not sum it
-- join multiplies core.order_line_versions (order_id, lines_version_no): a version has several lines, and several versions share them
--
-- version_no: The order's version, from 1, in the order of observation.
-- changed_fields: The fields that differ from the version before, by name, personal ones too; none for the first version, and where only the writing of a number or an undocumented field differs. Values: core.order_changes.
-- delivery_ids BIGINT[] null: The ids of its delivery records, in the order of the document.
-- delivery_statuses VARCHAR[] null: The statuses of its delivery records, in the order of the document.
-- delivery_types VARCHAR[] null: The types of its delivery records, in the order of the document.
-- _payload_sha256: SHA-256 of the document without personal data.
with changed as (
    select
        order_id, version_no,
        list(field order by field) as fields,
    from core.order_changes group by order_id, version_no
),
versions as (
    select
        given.order_id, given.version_no,
        -- the first version has the first lines, and nothing to differ from
        coalesce(edits.lines_version_no, 1) as lines_version_no, given.first_seen_at, given.last_seen_at,
        given.document.status as status,
        given.document.$price as $price,
        list_transform(given.document.deliveries, lambda d: d.id) as delivery_ids,
        list_transform(given.document.deliveries, lambda d: d.status) as delivery_statuses,
        list_transform(given.document.deliveries, lambda d: d.type) as delivery_types,
        given._load_id, given._payload_sha256,
    from raw.order_versions as given left join raw.order_edits as edits using (order_id, version_no)
    union all
    select
        stored.order_id, stored.version_no, stored.lines_version_no, stored.first_seen_at,
        greatest(stored.last_seen_at, again.last_seen_at) as last_seen_at,
        stored.status,
        stored.$price,
        stored.delivery_ids, stored.delivery_statuses, stored.delivery_types, stored._load_id,
        stored._payload_sha256,
    from core.order_versions as stored -- as it was before this build
    left join raw.order_sightings as again using (order_id, version_no)
)

select
    versions.order_id, versions.version_no, versions.lines_version_no, versions.first_seen_at,
    versions.last_seen_at, coalesce(changed.fields, []) as changed_fields, versions.status,
    versions.delivery_ids, versions.delivery_statuses, versions.delivery_types,
    versions.$price,
    versions._load_id, versions._payload_sha256,
from versions
left join changed using (order_id, version_no)
