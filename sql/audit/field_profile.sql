-- One row per kind of document and field, documented or not: how often it is present, and what it holds.
--
-- Source: documents as last observed, and what validation recorded about them.
-- Caveats: null and absent are counted by document: null_document_count counts an order once, however many of its
-- lines have a null. Nothing personal is here: of an encrypted field only its presence, of an unknown one its name and
-- types. An array has a row only where some document lacks it.
--
-- key: kind, path
--
-- is_documented BOOLEAN: Whether the interface shows this field; of stores: whether a setting points to it.
-- document_count: How many documents of this kind there are, with or without it.
-- parent_count null: How many objects could have it: the elements of its array, or the documents. Null for arrays and for fields that are not documented.
-- present_count null: How many of them have it, neither null nor absent. Of a field that is not documented: in how many documents. Null for arrays.
-- null_document_count BIGINT >= 0: In how many documents it is null, in one place or more.
-- absent_document_count BIGINT >= 0: In how many documents it is absent, from one place or more.
-- types VARCHAR[]: The JSON types met, sorted; a documented field of another type is quarantined, not listed here.
-- first_seen_at: The earliest time at which a version that has it was first observed; null where no such time is known.
-- last_seen_at: The latest time at which a version that has it was first observed; null where no such time is known.
-- null_first_seen_at TIMESTAMPTZ null: The same for a version in which it is null; null where there is none.
-- absent_first_seen_at TIMESTAMPTZ null: The same for a version that lacks it; null where there is none.
-- example_id null
-- null_example_id BIGINT null: The lowest id of a document in which it is null; null where there is none.
-- absent_example_id BIGINT null: The lowest id of a document that lacks it; null where there is none.
with noted as (
    select
        'orders' as kind,
        * exclude (business_date),
    from workings.daily_field_profile
    union all by name
    select
        'menus' as kind,
        unnest(missing_fields || unknown_fields) as note,
        1 as document_count, _fetched_at as first_seen_at, _fetched_at as last_seen_at, menu_id as example_id,
    from workings.menu_field_issues
    union all by name
    select
        'stores' as kind,
        unnest(missing_fields || unknown_fields) as note,
        1 as document_count, _fetched_at as first_seen_at, _fetched_at as last_seen_at, store_id as example_id,
    from workings.store_field_issues
),
-- Validation notes 'items/*/name=absent' for a documented field that is lacking, and
-- '/items/*/foo:string' for one that is there and not documented.
split_notes as (
    select
        *,
        if(note[1] = '/', regexp_replace(note, ':[a-z|]+$', ''), '/' || regexp_replace(note, '=[a-z]+$', '')) as path,
        if(note[1] = '/', 'unknown', regexp_extract(note, '[a-z]+$')) as state,
        if(note[1] = '/', string_split(regexp_extract(note, '[a-z|]+$'), '|'), []) as types,
    from noted
),
-- The name of a field may be a person's until orders of 20 customers, or 20 stores or menus, have it.
shown_paths as (
    select kind, path,
    from split_notes
    where state = 'unknown'
    group by kind, path
    having if(
        kind = 'orders', len(list_distinct(flatten(list(customer_keys)))), count(distinct example_id)
    ) >= 20
    union
    select kinds.kind, unnest(known_fields) as path,
    from raw.settings cross join (select distinct kind from split_notes) as kinds
),
named as (
    select
        * exclude (path),
        if(
            state = 'unknown' and not exists (
                select 1 from shown_paths as shown
                where shown.kind = split_notes.kind and shown.path = split_notes.path
            ),
            regexp_replace(path, '[^/]*$', '?'),
            path
        ) as path,
    from split_notes
),
notes as (
    select
        kind, path,
        bool_or(state = 'unknown') as is_unknown,
        flatten(list(types)) as types,
        sum(document_count) filter (where state = 'unknown') as unknown,
        coalesce(sum(document_count) filter (where state = 'null'), 0) as nulls,
        coalesce(sum(document_count) filter (where state = 'absent'), 0) as absences,
        min(first_seen_at) filter (where state = 'unknown') as first_seen_at,
        max(last_seen_at) filter (where state = 'unknown') as last_seen_at,
        min(example_id) filter (where state = 'unknown') as example_id,
        min(example_id) filter (where state = 'null') as null_example_id,
        min(example_id) filter (where state = 'absent') as absent_example_id,
        min(first_seen_at) filter (where state = 'null') as null_first_seen_at,
        min(first_seen_at) filter (where state = 'absent') as absent_first_seen_at,
    from named group by kind, path
),
held as (
    select
        'orders' as kind,
        * exclude (business_date),
    from workings.daily_field_values
    union all
    from workings.field_values
),
summed as (
    select
        kind, path,
        any_value(type) as type, -- one path has one type
        sum(parent_count) as parent_count,
        sum(present_count) as present_count, sum(empty_count) as empty_count, max(max_decimals) as max_decimals,
        min(min_length) as min_length, max(max_length) as max_length, min(min_value) as min_value,
        max(max_value) as max_value, min(min_timestamp) as min_timestamp, max(max_timestamp) as max_timestamp,
        min(first_seen_at) as first_seen_at, max(last_seen_at) as last_seen_at, min(example_id) as example_id,
    from held group by kind, path
),
-- a document's own id is there, or it was not accepted
totals as (
    select kind, present_count as document_count,
    from summed where path = if(kind = 'menus', '/menu/id', '/id')
)

select
    kind, path,
    coalesce(not notes.is_unknown, true) as is_documented,
    cast(totals.document_count as bigint) as document_count,
    cast(summed.parent_count as bigint) as parent_count,
    cast(if(notes.is_unknown, notes.unknown, summed.present_count) as bigint) as present_count,
    cast(summed.empty_count as bigint) as empty_count,
    cast(coalesce(notes.nulls, 0) as bigint) as null_document_count,
    cast(coalesce(notes.absences, 0) as bigint) as absent_document_count,
    list_sort(list_distinct(
        coalesce(notes.types, [])
        || if(summed.present_count > 0, [summed.type], [])
        || if(notes.nulls > 0, ['null'], [])
    )) as types,
    summed.max_decimals, summed.min_length, summed.max_length, summed.min_value, summed.max_value,
    summed.min_timestamp, summed.max_timestamp,
    if(notes.is_unknown, notes.first_seen_at, summed.first_seen_at) as first_seen_at,
    if(notes.is_unknown, notes.last_seen_at, summed.last_seen_at) as last_seen_at,
    notes.null_first_seen_at, notes.absent_first_seen_at,
    if(notes.is_unknown, notes.example_id, summed.example_id) as example_id,
    notes.null_example_id, notes.absent_example_id,
from summed
full join notes using (kind, path)
inner join totals using (kind)
