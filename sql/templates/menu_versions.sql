-- One row per place in a menu, and run of versions that say the same of it: `$table`.

-- each new version, and the last version that is stored here
with seen as (
    select
        t.menu_id, t.version_no,
        $place as place,
        $content as content,
        t.version_no as since_version_no,
    from ($of) as t
    union all
    select
        t.menu_id, versions.version_no,
        $place as place,
        $content as content,
        t.version_no as since_version_no,
    from $table as t -- as it was before this build
    inner join raw.menu_versions as versions on t.menu_id = versions.menu_id and not versions.is_new
    where t.is_current
),
marked as (
    select
        *,
        lag(version_no) over in_order is distinct from version_no - 1
            or content is distinct from lag(content) over in_order as starts,
    from seen
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
        menu_id, place, run_no, any_value(content) as content, min(since_version_no) as version_no,
        max(version_no) as last_version_no,
    from numbered group by menu_id, place, run_no
)

select
    runs.menu_id,
    $places,
    runs.version_no,
    $contents,
    coalesce(firsts.first_seen_at, t.observed_from) as observed_from,
    if(nexts.menu_id is null, null, lasts.last_seen_at) as observed_to,
    nexts.first_seen_at as change_seen_at,
    nexts.menu_id is null as is_current,
    coalesce(firsts._load_id, t._load_id) as _load_id,
from runs
inner join raw.menu_versions as lasts on runs.menu_id = lasts.menu_id and runs.last_version_no = lasts.version_no
left join raw.menu_versions as firsts
    on runs.menu_id = firsts.menu_id and runs.version_no = firsts.version_no and firsts.is_new
left join raw.menu_versions as nexts on runs.menu_id = nexts.menu_id and runs.last_version_no + 1 = nexts.version_no
left join $table as t
    on t.is_current
    and runs.menu_id = t.menu_id
    and runs.place = $place
    and runs.version_no = t.version_no
union all
select * from $table where not is_current
