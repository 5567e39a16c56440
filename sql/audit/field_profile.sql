-- One row per kind of document, field, and way in which it is not as documented.
with

noted as (
    select
        'orders' as kind,
        note,
        documents,
        first_seen_at,
        last_seen_at,
        example_id,
    from audit.daily_field_profile

    union all

    select
        'menus' as kind,
        unnest(absences || unknown_fields) as note,
        1 as documents,
        _fetched_at as first_seen_at,
        _fetched_at as last_seen_at,
        menu_id as example_id,
    from audit.menu_notes

    union all

    select
        'stores' as kind,
        unnest(absences || unknown_fields) as note,
        1 as documents,
        _fetched_at as first_seen_at,
        _fetched_at as last_seen_at,
        store_id as example_id,
    from audit.store_notes
),

-- The gate writes 'items/*/name=absent' for a field that is documented and lacking, and
-- '/items/*/foo:string' for one that is there and not documented.
named as (
    select
        kind,
        if(
            note[1] = '/',
            regexp_replace(note, ':[a-z|]+$', ''),
            '/' || regexp_replace(note, '=[a-z]+$', '')
        ) as path,
        if(
            note[1] = '/',
            'unknown:' || regexp_extract(note, '[a-z|]+$'),
            regexp_extract(note, '[a-z]+$')
        ) as state,
        documents,
        first_seen_at,
        last_seen_at,
        example_id,
    from noted
)

select
    -- keys
    kind,
    path,
    state,
    -- how often
    cast(sum(documents) as bigint) as documents,
    min(first_seen_at) as first_seen_at,
    max(last_seen_at) as last_seen_at,
    min(example_id) as example_id,
from named
group by kind, path, state
