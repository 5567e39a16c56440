-- One row per $entity whose document lacks a field, has an unknown one or was rounded.
with notes as (
    select
        ${entity}_id,
        coalesce(absences, []) as missing_fields,
        coalesce(
            list_transform(map_entries(document._unknown), lambda each: each.key || ':' || each.value), []
        ) as unknown_fields,
        coalesce(rounded, 0) as rounded_count, _fetched_at, _load_id,
    from raw.latest_$kind
)

select
    ${entity}_id,
    missing_fields, unknown_fields, rounded_count, _fetched_at, _load_id,
from notes
where len(missing_fields) > 0 or len(unknown_fields) > 0 or rounded_count > 0
