-- One row per order line and per modifier of one: its price beside the menus of then.
--
-- Of the only menu that a store names, an item finds one row at most; what several menus
-- say of it is first added up.
with

menus as not materialized (
    select
        known.store_id,
        coalesce(known.known_from, cast('-infinity' as timestamptz)) as known_from,
        any_value(store_menus.menu_id) as menu_id,
        count(*) > 1 as are_several,
    from audit.stores_with_menus as known
    inner join core.store_menus as store_menus on known.store_id = store_menus.store_id
    group by known.store_id, known.known_from
),

orders as not materialized (
    select
        orders.order_id,
        orders.created_at,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.dispatch_method,
        orders.currency,
        coalesce(orders.created_at >= menus.known_from, false) as is_menu_known,
        if(is_menu_known, menus.menu_id, null) as menu_id,
        coalesce(menus.are_several, false) as are_several,
    from mart.orders as orders
    left join menus on orders.store_id = menus.store_id
),

-- a modifier without an id names nothing: not the product itself
items as not materialized (
    select
        order_id,
        line_no,
        cast(null as bigint) as modifier_no,
        product_id,
        cast(null as bigint) as modifier_id,
        price,
        true as is_named,
    from core.order_lines

    union all

    select
        order_id,
        line_no,
        modifier_no,
        product_id,
        modifier_id,
        price,
        modifier_id is not null as is_named,
    from core.order_line_modifiers
),

sold as not materialized (
    select
        orders.* replace (if(items.is_named, orders.menu_id, null) as menu_id),
        items.* exclude (order_id, is_named),
    from items
    inner join orders on items.order_id = orders.order_id
),

offers as not materialized (
    select
        * exclude (offered_from, offered_until),
        coalesce(offered_from, cast('-infinity' as timestamptz)) as from_at,
        coalesce(offered_until, cast('infinity' as timestamptz)) as until_at,
    from audit.menu_offers
),

-- materialized: joined to offers by product before its menus are known, it would meet
-- those of every store
sought as materialized (
    select
        sold.order_id,
        sold.line_no,
        sold.modifier_no,
        sold.product_id,
        sold.modifier_id,
        sold.created_at,
        store_menus.menu_id,
    from sold
    inner join core.store_menus as store_menus on sold.store_id = store_menus.store_id
    where sold.are_several and sold.menu_id is not null
),

offers_of_several as (
    select
        sought.order_id,
        sought.line_no,
        sought.modifier_no,
        cast(sum(offers.places) as bigint) as places,
        list_distinct(flatten(list(offers.prices))) as prices,
        list_distinct(flatten(list(offers.delivery_prices))) as delivery_prices,
    from sought
    inner join offers
        on sought.menu_id = offers.menu_id
        and sought.product_id = offers.product_id
        and sought.modifier_id is not distinct from offers.modifier_id
        and sought.created_at >= offers.from_at
        and sought.created_at < offers.until_at
    group by sought.order_id, sought.line_no, sought.modifier_no
),

-- joined by equal keys and bounds alone: any other condition compares each with each
found as (
    select sold.*, offers.places, offers.prices, offers.delivery_prices,
    from sold
    left join offers
        on sold.menu_id = offers.menu_id
        and sold.product_id = offers.product_id
        and sold.modifier_id is not distinct from offers.modifier_id
        and sold.created_at >= offers.from_at
        and sold.created_at < offers.until_at
    where not sold.are_several

    union all

    select sold.*, offers.places, offers.prices, offers.delivery_prices,
    from sold
    left join offers_of_several as offers
        on sold.order_id = offers.order_id
        and sold.line_no = offers.line_no
        and sold.modifier_no is not distinct from offers.modifier_no
    where sold.are_several
)

select
    -- keys
    order_id,
    line_no,
    modifier_no,
    store_id,
    business_date,
    sale_class,
    product_id,
    modifier_id,
    -- how it was dispatched
    dispatch_method,
    -- where it stands on the menus of then
    coalesce(places, 0) as places,
    case
        when not is_menu_known then 'menu_unknown'
        when places = 1 then 'unique'
        when places > 1 then 'ambiguous'
        else 'none'
    end as menu_match,
    -- money
    currency,
    price,
    if(len(prices) = 1, prices[1], null) as menu_price,
    if(len(delivery_prices) = 1, delivery_prices[1], null) as menu_delivery_price,
    -- the answer
    case
        when not is_menu_known or places is null or price is null then 'cannot_tell'
        when list_contains(prices, price)
            and list_contains(delivery_prices, price) then 'both'
        when list_contains(prices, price) then 'price'
        when list_contains(delivery_prices, price) then 'delivery_price'
        when len(prices) + len(delivery_prices) = 0 then 'cannot_tell'
        else 'neither'
    end as price_match,
    price - menu_price as price_drift,
    price - menu_delivery_price as delivery_price_drift,
from found
