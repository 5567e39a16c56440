-- One row per product of a menu, and run of versions in which it is the same.
with

entries as (
    select
        menu_id,
        version_no,
        unnest(map_entries(document.products)) as entry,
    from raw.menu_versions
),

seen as (
    select
        menu_id,
        version_no,
        {'product_id': cast(entry.key as bigint)} as place,
        {
            'name': entry.value.name,
            'description': entry.value.description,
            'dispatch_method': entry.value.dispatch_method
        } as content,
    from entries
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
        {'product_id': stored.product_id} as place,
        {
            'name': stored.name,
            'description': stored.description,
            'dispatch_method': stored.dispatch_method
        } as content,
        stored.version_no as since_version_no,
    from core.menu_product_versions as stored -- as it was before this build
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
    runs.place.product_id,
    runs.version_no,
    -- what was seen
    runs.content.name,
    runs.content.description,
    runs.content.dispatch_method,
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
left join core.menu_product_versions as stored
    on stored.is_current
    and runs.menu_id = stored.menu_id
    and runs.place.product_id = stored.product_id
    and runs.version_no = stored.version_no

union all

select * from core.menu_product_versions where not is_current
