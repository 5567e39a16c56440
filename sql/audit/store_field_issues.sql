-- One row per store whose document lacks a field, has an unknown one or was rounded.
with

notes as (
    select
        store_id,
        coalesce(absences, []) as absences,
        coalesce(
            list_transform(
                map_entries(document._unknown),
                lambda each: each.key || ':' || each.value
            ),
            []
        ) as unknown_fields,
        coalesce(rounded, 0) as rounded,
        _fetched_at,
        _load_id,
    from raw.latest_stores
)

select
    -- keys
    store_id,
    -- what the gate noted
    absences,
    unknown_fields,
    rounded,
    -- lineage
    _fetched_at,
    _load_id,
from notes
where len(absences) > 0 or len(unknown_fields) > 0 or rounded > 0
