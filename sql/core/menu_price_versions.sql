-- One row per place of a price in a menu, and run of versions in which it is the same.
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

groups as (
    select
        menu_id,
        version_no,
        generate_subscripts(document.menu.price_groups, 1) as group_no,
        unnest(document.menu.price_groups) as price_group,
    from raw.menu_versions
),

items as (
    select
        menu_id,
        version_no,
        group_no,
        generate_subscripts(price_group.prices, 1) as price_no,
        unnest(price_group.prices) as item,
    from groups
),

prices as (
    select
        menu_id,
        version_no,
        group_no,
        price_no,
        item.price_id as price_id,
        item.product_id as product_id,
        item.channel as channel,
        item.price as price,
        item.delivery_price as delivery_price,
    from items
),

-- what each new version says, and what the last version that stands here says
stated as (
    select
        menu_id,
        version_no,
        group_no,
        price_no,
        price_id,
        product_id,
        channel,
        price,
        delivery_price,
        version_no as since_version_no,
    from prices

    union all

    select
        stored.menu_id,
        versions.version_no,
        stored.group_no,
        stored.price_no,
        stored.price_id,
        stored.product_id,
        stored.channel,
        stored.price,
        stored.delivery_price,
        stored.version_no as since_version_no,
    from core.menu_price_versions as stored -- as it was before this build
    inner join versions
        on stored.menu_id = versions.menu_id
        and not versions.is_new
    where stored.is_current
),

marked as (
    select
        *,
        lag(version_no) over in_order is distinct from version_no - 1
        or price_id is distinct from lag(price_id) over in_order
        or product_id is distinct from lag(product_id) over in_order
        or channel is distinct from lag(channel) over in_order
        or price is distinct from lag(price) over in_order
        or delivery_price is distinct from lag(delivery_price) over in_order
            as starts,
    from stated
    window in_order as (partition by menu_id, group_no, price_no order by version_no)
),

numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by menu_id, group_no, price_no
            order by version_no rows unbounded preceding
        ) as run_no,
    from marked
),

runs as (
    select
        menu_id,
        group_no,
        price_no,
        run_no,
        any_value(price_id) as price_id,
        any_value(product_id) as product_id,
        any_value(channel) as channel,
        any_value(price) as price,
        any_value(delivery_price) as delivery_price,
        min(since_version_no) as version_no,
        max(version_no) as last_version_no,
    from numbered
    group by menu_id, group_no, price_no, run_no
),

intervals as (
    select
        runs.menu_id,
        runs.group_no,
        runs.price_no,
        runs.version_no,
        runs.price_id,
        runs.product_id,
        runs.channel,
        runs.price,
        runs.delivery_price,
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
    left join core.menu_price_versions as stored
        on stored.is_current
        and runs.menu_id = stored.menu_id
        and runs.group_no = stored.group_no
        and runs.price_no = stored.price_no
        and runs.version_no = stored.version_no

    union all

    select
        menu_id,
        group_no,
        price_no,
        version_no,
        price_id,
        product_id,
        channel,
        price,
        delivery_price,
        observed_from,
        observed_to,
        change_seen_at,
        is_current,
        _load_id,
    from core.menu_price_versions
    where not is_current
)

select
    -- keys
    menu_id,
    group_no,
    price_no,
    version_no,
    -- what was seen
    price_id,
    product_id,
    channel,
    price,
    delivery_price,
    -- when
    observed_from,
    observed_to,
    change_seen_at,
    is_current,
    -- lineage
    _load_id,
from intervals
