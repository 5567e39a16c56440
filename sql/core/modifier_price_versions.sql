-- One row per place of a modifier in a menu, and run of versions in which it is the same.
with

versions as (
    select
        menu_id,
        version_no,
        is_new,
        first_seen_at,
        last_seen_at,
        _load_id,
    from raw.menu_versions
),

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

prices as (
    select
        menu_id,
        version_no,
        parent_type,
        parent_id,
        edge_no,
        reference.modifier_id as modifier_id,
        reference.price as price,
    from edges
),

-- what each new version says, and what the last version that stands here says
stated as (
    select
        menu_id,
        version_no,
        parent_type,
        parent_id,
        edge_no,
        modifier_id,
        price,
        version_no as since_version_no,
    from prices

    union all

    select
        stored.menu_id,
        versions.version_no,
        stored.parent_type,
        stored.parent_id,
        stored.edge_no,
        stored.modifier_id,
        stored.price,
        stored.version_no as since_version_no,
    from core.modifier_price_versions as stored -- as it was before this build
    inner join versions
        on stored.menu_id = versions.menu_id
        and not versions.is_new
    where stored.is_current
),

marked as (
    select
        *,
        lag(version_no) over in_order is distinct from version_no - 1
        or modifier_id is distinct from lag(modifier_id) over in_order
        or price is distinct from lag(price) over in_order
            as starts,
    from stated
    window in_order as (partition by menu_id, parent_type, parent_id, edge_no order by version_no)
),

numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by menu_id, parent_type, parent_id, edge_no
            order by version_no rows unbounded preceding
        ) as run_no,
    from marked
),

runs as (
    select
        menu_id,
        parent_type,
        parent_id,
        edge_no,
        run_no,
        any_value(modifier_id) as modifier_id,
        any_value(price) as price,
        min(since_version_no) as version_no,
        max(version_no) as last_version_no,
    from numbered
    group by menu_id, parent_type, parent_id, edge_no, run_no
),

intervals as (
    select
        runs.menu_id,
        runs.parent_type,
        runs.parent_id,
        runs.edge_no,
        runs.version_no,
        runs.modifier_id,
        runs.price,
        coalesce(firsts.first_seen_at, stored.observed_from) as observed_from,
        if(nexts.menu_id is null, null, lasts.last_seen_at) as observed_to,
        nexts.first_seen_at as change_seen_at,
        nexts.menu_id is null as is_current,
        coalesce(firsts._load_id, stored._load_id) as _load_id,
    from runs
    inner join versions as lasts
        on runs.menu_id = lasts.menu_id
        and runs.last_version_no = lasts.version_no
    left join versions as firsts
        on runs.menu_id = firsts.menu_id
        and runs.version_no = firsts.version_no
        and firsts.is_new
    left join versions as nexts
        on runs.menu_id = nexts.menu_id
        and runs.last_version_no + 1 = nexts.version_no
    left join core.modifier_price_versions as stored
        on stored.is_current
        and runs.menu_id = stored.menu_id
        and runs.parent_type = stored.parent_type
        and runs.parent_id = stored.parent_id
        and runs.edge_no = stored.edge_no
        and runs.version_no = stored.version_no

    union all

    select
        menu_id,
        parent_type,
        parent_id,
        edge_no,
        version_no,
        modifier_id,
        price,
        observed_from,
        observed_to,
        change_seen_at,
        is_current,
        _load_id,
    from core.modifier_price_versions
    where not is_current
)

select
    -- keys
    menu_id,
    parent_type,
    parent_id,
    edge_no,
    version_no,
    -- what was seen
    modifier_id,
    price,
    -- when
    observed_from,
    observed_to,
    change_seen_at,
    is_current,
    -- lineage
    _load_id,
from intervals
