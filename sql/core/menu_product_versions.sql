-- One row per product of a menu, and run of versions in which it is the same.
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

entries as (
    select
        menu_id,
        version_no,
        unnest(map_entries(document.products)) as entry,
    from raw.menu_versions
),

products as (
    select
        menu_id,
        version_no,
        cast(entry.key as bigint) as product_id,
        entry.value.name as name,
        entry.value.description as description,
        entry.value.dispatch_method as dispatch_method,
    from entries
),

-- what each new version says, and what the last version that stands here says
stated as (
    select
        menu_id,
        version_no,
        product_id,
        name,
        description,
        dispatch_method,
        version_no as since_version_no,
    from products

    union all

    select
        stored.menu_id,
        versions.version_no,
        stored.product_id,
        stored.name,
        stored.description,
        stored.dispatch_method,
        stored.version_no as since_version_no,
    from core.menu_product_versions as stored -- as it was before this build
    inner join versions
        on stored.menu_id = versions.menu_id
        and not versions.is_new
    where stored.is_current
),

marked as (
    select
        *,
        lag(version_no) over in_order is distinct from version_no - 1
        or name is distinct from lag(name) over in_order
        or description is distinct from lag(description) over in_order
        or dispatch_method is distinct from lag(dispatch_method) over in_order
            as starts,
    from stated
    window in_order as (partition by menu_id, product_id order by version_no)
),

numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by menu_id, product_id
            order by version_no rows unbounded preceding
        ) as run_no,
    from marked
),

runs as (
    select
        menu_id,
        product_id,
        run_no,
        any_value(name) as name,
        any_value(description) as description,
        any_value(dispatch_method) as dispatch_method,
        min(since_version_no) as version_no,
        max(version_no) as last_version_no,
    from numbered
    group by menu_id, product_id, run_no
),

intervals as (
    select
        runs.menu_id,
        runs.product_id,
        runs.version_no,
        runs.name,
        runs.description,
        runs.dispatch_method,
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
    left join core.menu_product_versions as stored
        on stored.is_current
        and runs.menu_id = stored.menu_id
        and runs.product_id = stored.product_id
        and runs.version_no = stored.version_no

    union all

    select
        menu_id,
        product_id,
        version_no,
        name,
        description,
        dispatch_method,
        observed_from,
        observed_to,
        change_seen_at,
        is_current,
        _load_id,
    from core.menu_product_versions
    where not is_current
)

select
    -- keys
    menu_id,
    product_id,
    version_no,
    -- what was seen
    name,
    description,
    dispatch_method,
    -- when
    observed_from,
    observed_to,
    change_seen_at,
    is_current,
    -- lineage
    _load_id,
from intervals
