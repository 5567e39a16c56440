-- One row per kind of document, coded field, and value that it has.
with

-- of every version of a menu: what is older than its latest is not new with it
prices as (
    select
        menu_id,
        channel as value,
        count(*) filter (where is_current) as occurrence_count,
        min(observed_from) as first_seen_at,
        max(observed_from) as last_came_at,
        bool_or(observed_from is null) as is_of_unknown_time,
    from core.menu_price_versions
    where channel is not null
    group by menu_id, channel
),

products as (
    select
        menu_id,
        dispatch_method as value,
        count(*) filter (where is_current) as occurrence_count,
        min(observed_from) as first_seen_at,
        max(observed_from) as last_came_at,
        bool_or(observed_from is null) as is_of_unknown_time,
    from core.menu_product_versions
    where dispatch_method is not null
    group by menu_id, dispatch_method
),

used as (
    select
        'orders' as kind,
        path,
        value,
        document_count,
        occurrence_count,
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
        if(prices.occurrence_count > 0, 1, 0) as document_count,
        prices.occurrence_count,
        prices.first_seen_at,
        if(prices.occurrence_count > 0, menus._fetched_at, prices.last_came_at)
            as last_seen_at,
        prices.is_of_unknown_time,
        prices.menu_id as example_id,
    from prices
    inner join core.menus as menus on prices.menu_id = menus.menu_id

    union all

    select
        'menus' as kind,
        '/products/*/dispatch_method' as path,
        products.value,
        if(products.occurrence_count > 0, 1, 0) as document_count,
        products.occurrence_count,
        products.first_seen_at,
        if(products.occurrence_count > 0, menus._fetched_at, products.last_came_at)
            as last_seen_at,
        products.is_of_unknown_time,
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
    cast(sum(document_count) as bigint) as document_count,
    cast(sum(occurrence_count) as bigint) as occurrence_count,
    min(first_seen_at) as first_seen_at,
    max(last_seen_at) as last_seen_at,
    bool_or(is_of_unknown_time) as is_of_unknown_time,
    min(example_id) as example_id,
from used
group by kind, path, value
