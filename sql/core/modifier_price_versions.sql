-- One row per place of a modifier in a menu, and run of versions in which it is the same.
with

product_entries as (
    select
        menu_id,
        version_no,
        unnest(map_entries(document.products)) as entry,
    from raw.menu_versions
),

modifier_entries as (
    select
        menu_id,
        version_no,
        unnest(map_entries(document.modifiers)) as entry,
    from raw.menu_versions
),

edges as (
    select
        menu_id,
        version_no,
        'product' as parent_type,
        cast(entry.key as bigint) as parent_id,
        generate_subscripts(entry.value.modifiers, 1) as edge_no,
        unnest(entry.value.modifiers) as reference,
    from product_entries

    union all

    select
        menu_id,
        version_no,
        'modifier' as parent_type,
        cast(entry.key as bigint) as parent_id,
        generate_subscripts(entry.value.children, 1) as edge_no,
        unnest(entry.value.children) as reference,
    from modifier_entries
),

seen as (
    select
        menu_id,
        version_no,
        {'parent_type': parent_type, 'parent_id': parent_id, 'edge_no': edge_no} as place,
        {'modifier_id': reference.modifier_id, 'price': reference.price} as content,
    from edges
),

-- what each new version says, and what the last version that stands here says
stated as (
    select
        menu_id,
        version_no,
        place,
        content,
        version_no as since_version_no,
    from seen

    union all

    select
        stored.menu_id,
        versions.version_no,
        {
            'parent_type': stored.parent_type,
            'parent_id': stored.parent_id,
            'edge_no': stored.edge_no
        } as place,
        {'modifier_id': stored.modifier_id, 'price': stored.price} as content,
        stored.version_no as since_version_no,
    from core.modifier_price_versions as stored -- as it was before this build
    inner join raw.menu_versions as versions
        on stored.menu_id = versions.menu_id
        and not versions.is_new
    where stored.is_current
),

marked as (
    select
        *,
        lag(version_no) over in_order is distinct from version_no - 1
            or content is distinct from lag(content) over in_order as starts,
    from stated
    window in_order as (partition by menu_id, place order by version_no)
),

numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by menu_id, place
            order by version_no rows unbounded preceding
        ) as run_no,
    from marked
),

runs as (
    select
        menu_id,
        place,
        run_no,
        any_value(content) as content,
        min(since_version_no) as version_no,
        max(version_no) as last_version_no,
    from numbered
    group by menu_id, place, run_no
)

select
    -- keys
    runs.menu_id,
    runs.place.parent_type,
    runs.place.parent_id,
    runs.place.edge_no,
    runs.version_no,
    -- what was seen
    runs.content.modifier_id,
    runs.content.price,
    -- when
    coalesce(firsts.first_seen_at, stored.observed_from) as observed_from,
    if(nexts.menu_id is null, null, lasts.last_seen_at) as observed_to,
    nexts.first_seen_at as change_seen_at,
    nexts.menu_id is null as is_current,
    -- lineage
    coalesce(firsts._load_id, stored._load_id) as _load_id,
from runs
inner join raw.menu_versions as lasts
    on runs.menu_id = lasts.menu_id
    and runs.last_version_no = lasts.version_no
left join raw.menu_versions as firsts
    on runs.menu_id = firsts.menu_id
    and runs.version_no = firsts.version_no
    and firsts.is_new
left join raw.menu_versions as nexts
    on runs.menu_id = nexts.menu_id
    and runs.last_version_no + 1 = nexts.version_no
left join core.modifier_price_versions as stored
    on stored.is_current
    and runs.menu_id = stored.menu_id
    and runs.place.parent_type = stored.parent_type
    and runs.place.parent_id = stored.parent_id
    and runs.place.edge_no = stored.edge_no
    and runs.version_no = stored.version_no

union all

select * from core.modifier_price_versions where not is_current
