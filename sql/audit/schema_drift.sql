-- One row per value, field, type or null that first occurred after the first loads of its kind.
--
-- Source: every version of orders and menus, workings.load_notes, every rejection. What occurs until the
-- first pause of ten seconds between loads of a kind is what later ones are compared with. A first sight by an
-- archive, or at an unknown time, is no drift.
-- Caveats: it warns and blocks nothing. The run's summary lists those first seen since the previous release.
--
-- key: kind, path, change_type, value
--
-- path: Where in the document, as a JSON pointer in which * stands for every element or key.
-- change_type ENUM('absent', 'field', 'null', 'type', 'value'): value: of a coded field. null, absent: a documented field is so. field: one that is not documented. type: a documented field of another type; such a document is quarantined, unless it is a list that came as an object, or an empty one of the two in place of the other.
-- value null: The value as sent, or the types of a new field; null for others.
-- first_seen_at not null: When it first occurred, or its load began.
-- load_id: The load in which it first occurred.
-- example_ids: Up to three ids of documents of that time, the lowest.
with live as (
    select
        kind, load_id, first_observed_at, last_observed_at,
        source = 'live' and not is_backfill as can_drift,
    from audit.loads
),
-- a first pause of ten seconds ends what later loads are compared with
paused as (
    select
        kind, last_observed_at,
        lead(first_observed_at) over (
            partition by kind order by first_observed_at, load_id
        ) > last_observed_at + interval 10 seconds as is_pause,
    from live where can_drift and first_observed_at is not null
),
learned as (
    select
        kind,
        coalesce(min(last_observed_at) filter (where is_pause), max(last_observed_at)) as until,
    from paused group by kind
),
values_met as (
    select
        met.kind, met.path, 'value' as change_type, met.value, met.first_seen_at, min(live.load_id) as load_id,
        [met.example_id] as example_ids,
    from audit.vocabulary as met
    inner join live
        on met.kind = live.kind
        and met.first_seen_at >= live.first_observed_at
        and met.first_seen_at <= live.last_observed_at
    where live.can_drift and not met.is_of_unknown_time
    group by met.kind, met.path, met.value, met.first_seen_at, met.example_id
),
noted as (
    select
        notes.kind,
        if(note[1] = '/', regexp_replace(note, ':[a-z|]+$', ''), '/' || regexp_replace(note, '=[a-z]+$', '')) as path,
        if(note[1] = '/', 'field', regexp_extract(note, '[a-z]+$')) as change_type,
        if(note[1] = '/', regexp_extract(note, '[a-z|]+$'), null) as value,
        live.first_observed_at, live.can_drift, notes.load_id, notes.example_ids,
    from workings.load_notes as notes inner join live using (load_id)
    union all
    -- a documented field of another type: the whole document was refused
    select
        refused.kind,
        regexp_replace(refused.pointer, '/[0-9]+', '/*', 'g') as path,
        'type' as change_type, null as value, refused.observed_at as first_observed_at, live.can_drift,
        refused.load_id,
        [refused.id] as example_ids,
    from raw.refusals as refused
    inner join live using (load_id)
    where refused.reason = 'wrong_type' and refused.pointer is not null
),
-- where a time is unknown, nothing was first
notes_met as (
    select
        kind, path, change_type, value, min(first_observed_at) as first_seen_at,
        arg_min(load_id, row(first_observed_at, load_id)) as load_id,
        arg_min(example_ids, row(first_observed_at, load_id, example_ids)) as example_ids,
    from noted
    group by kind, path, change_type, value
    having bool_and(first_observed_at is not null) and arg_min(can_drift, row(first_observed_at, load_id))
),
met as (
    select * from values_met
    union all
    -- of an order's fields that audit.field_profile does not name, the newest counts
    select
        kind,
        if(
            kind = 'orders' and change_type = 'field' and path not in (
                select profile.path from audit.field_profile as profile where profile.kind = 'orders'
            ),
            regexp_replace(path, '[^/]*$', '?'),
            path
        ) as shown_path,
        change_type, value, max(first_seen_at) as first_seen_at,
        arg_max(load_id, row(first_seen_at, load_id)) as load_id,
        arg_max(example_ids, row(first_seen_at, load_id)) as example_ids,
    from notes_met group by kind, shown_path, change_type, value
)

select
    met.kind, met.path, met.change_type, met.value, met.first_seen_at, met.load_id,
    list_filter(met.example_ids, lambda id: id is not null) as example_ids,
from met
inner join learned using (kind)
where met.first_seen_at > learned.until
