-- One row per kind of document, coded field, and value that it has.
with

prices as (
    select
        menu_id,
        channel as value,
        count(*) as times,
    from core.menu_prices
    where channel is not null
    group by menu_id, channel
),

products as (
    select
        menu_id,
        dispatch_method as value,
        count(*) as times,
    from core.products
    where dispatch_method is not null
    group by menu_id, dispatch_method
),

used as (
    select
        'orders' as kind,
        path,
        value,
        documents,
        times,
        first_seen_at,
        last_seen_at,
        is_of_unknown_time,
        example_id,
    from audit.daily_vocabulary

    union all

    select
        'menus' as kind,
        '/menu/price_groups/*/prices/*/channel' as path,
        prices.value,
        1 as documents,
        prices.times,
        menus._fetched_at as first_seen_at,
        menus._fetched_at as last_seen_at,
        menus._fetched_at is null as is_of_unknown_time,
        prices.menu_id as example_id,
    from prices
    inner join core.menus as menus on prices.menu_id = menus.menu_id

    union all

    select
        'menus' as kind,
        '/products/*/dispatch_method' as path,
        products.value,
        1 as documents,
        products.times,
        menus._fetched_at as first_seen_at,
        menus._fetched_at as last_seen_at,
        menus._fetched_at is null as is_of_unknown_time,
        products.menu_id as example_id,
    from products
    inner join core.menus as menus on products.menu_id = menus.menu_id
)

select
    -- keys
    kind,
    path,
    value,
    -- how often
    cast(sum(documents) as bigint) as documents,
    cast(sum(times) as bigint) as times,
    min(first_seen_at) as first_seen_at,
    max(last_seen_at) as last_seen_at,
    bool_or(is_of_unknown_time) as is_of_unknown_time,
    min(example_id) as example_id,
from used
group by kind, path, value
