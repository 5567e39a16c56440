-- One row per order line and per modifier of one: its price beside the menus of then.
with

orders as (
    select
        orders.order_id,
        orders.created_at,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.dispatch_method,
        orders.currency,
        coalesce(
            known.store_id is not null
            and orders.created_at
            >= coalesce(known.known_from, cast('-infinity' as timestamptz)),
            false
        ) as is_menu_known,
    from mart.orders as orders
    left join audit.stores_with_menus as known on orders.store_id = known.store_id
),

items as (
    select
        order_id,
        line_no,
        cast(null as bigint) as modifier_no,
        product_id,
        cast(null as bigint) as modifier_id,
        price,
    from core.order_lines

    union all

    select
        order_id,
        line_no,
        modifier_no,
        product_id,
        modifier_id,
        price,
    from core.order_line_modifiers
),

-- a modifier without an id names nothing: not the product itself
-- materialized: joined to offers by product before its menus are known, it would meet
-- those of every store
sought as materialized (
    select
        items.order_id,
        items.line_no,
        items.modifier_no,
        items.product_id,
        items.modifier_id,
        orders.created_at,
        menus.menu_id,
    from items
    inner join orders on items.order_id = orders.order_id
    inner join core.store_menus as menus on orders.store_id = menus.store_id
    where orders.is_menu_known
        and (items.modifier_no is null or items.modifier_id is not null)
),

offers as (
    select
        sought.order_id,
        sought.line_no,
        sought.modifier_no,
        cast(sum(offers.places) as bigint) as places,
        list_distinct(flatten(list(offers.prices))) as prices,
        list_distinct(flatten(list(offers.delivery_prices))) as delivery_prices,
    from sought
    inner join audit.menu_offers as offers
        on sought.menu_id = offers.menu_id
        and sought.product_id = offers.product_id
        and sought.modifier_id is not distinct from offers.modifier_id
        and (offers.offered_from is null or offers.offered_from <= sought.created_at)
        and (offers.offered_until is null or offers.offered_until > sought.created_at)
    group by sought.order_id, sought.line_no, sought.modifier_no
)

select
    -- keys
    items.order_id,
    items.line_no,
    items.modifier_no,
    orders.store_id,
    orders.business_date,
    orders.sale_class,
    items.product_id,
    items.modifier_id,
    -- how it was dispatched
    orders.dispatch_method,
    -- where it stands on the menus of then
    coalesce(offers.places, 0) as places,
    case
        when not orders.is_menu_known then 'menu_unknown'
        when offers.places = 1 then 'unique'
        when offers.places > 1 then 'ambiguous'
        else 'none'
    end as menu_match,
    -- money
    orders.currency,
    items.price,
    if(len(offers.prices) = 1, offers.prices[1], null) as menu_price,
    if(len(offers.delivery_prices) = 1, offers.delivery_prices[1], null)
        as menu_delivery_price,
    -- the answer
    case
        when not orders.is_menu_known or offers.places is null or items.price is null
            then 'cannot_tell'
        when list_contains(offers.prices, items.price)
            and list_contains(offers.delivery_prices, items.price) then 'both'
        when list_contains(offers.prices, items.price) then 'price'
        when list_contains(offers.delivery_prices, items.price) then 'delivery_price'
        when len(offers.prices) + len(offers.delivery_prices) = 0 then 'cannot_tell'
        else 'neither'
    end as price_match,
    items.price - menu_price as price_drift,
    items.price - menu_delivery_price as delivery_price_drift,
from items
inner join orders on items.order_id = orders.order_id
left join offers -- by equal keys alone: any other condition compares each with each
    on items.order_id = offers.order_id
    and items.line_no = offers.line_no
    and items.modifier_no is not distinct from offers.modifier_no
