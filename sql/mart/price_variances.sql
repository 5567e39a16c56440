-- One row per order line and per modifier of a line: its price against the menus as observed when ordered.
--
-- Source: core.order_lines, core.order_line_modifiers, mart.orders, workings.stores_with_menus, workings.menu_offers,
-- workings.menu_set_offers and workings.first_menu_offers.
-- Caveats: the menus are those that the store record names now. Menu prices are by observation time, so an order
-- shortly after a price change may be compared with the old price, and one from before any menu of the store was
-- observed is compared with each of them as first observed (menu_match is first_seen_later): it may have asked another
-- price then. The interface does not say which dispatch methods use delivery_price: see which one matches. Variances
-- are null unless all matching entries agree.
--
-- key: order_id, line_no, modifier_no
-- scope: order
--
-- modifier_no null: The modifier's position in the line, from 1; null for the line itself.
-- modifier_id: The modifier; null for the line itself, and if it names none.
-- menu_entry_count >= 0: How many entries of the store's menus offered it then.
-- menu_id null: The menu it is compared with; null for none, or if several menus offered it.
-- menu_seen_at TIMESTAMPTZ null: When that menu was first seen to ask that, later than the order where menu_match is first_seen_later; null for an archive of unknown time, and without a menu.
-- price: The price on the order, as sent.
-- menu_price DECIMAL(38,4) null: The menu price; null if entries disagree or state none.
-- menu_delivery_price DECIMAL(38,4) null: The menu delivery price; null if entries disagree or state none (modifiers have none).
-- price_match ENUM('both', 'delivery_price', 'indeterminate', 'neither', 'price'): The menu price that it equals: price, delivery_price, both (they are equal, or of several entries) or neither; indeterminate if there is nothing to compare.
-- price_variance DECIMAL(38,4) null: price less menu_price.
-- delivery_price_variance DECIMAL(38,4) null: price less menu_delivery_price.

-- Where no menu of the store had been seen by then, as each of them was first seen later.
-- A store with one menu looks offers up in that menu; one with several in its set of menus.
with menus as not materialized (
    select
        store_id,
        coalesce(known_from, cast('-infinity' as timestamptz)) as from_at,
        coalesce(known_until, cast('infinity' as timestamptz)) as until_at,
        are_all_known,
        if(are_first_seen_later, 'store', if(are_several, 'set', 'menu')) as offers_of,
        menu_scope_id,
    from workings.stores_with_menus
),
orders as not materialized (
    select
        orders.order_id, orders.created_at, orders.store_id, orders.business_date, orders.sale_class,
        orders.dispatch_method, orders.currency, menus.are_all_known, menus.offers_of, menus.menu_scope_id,
    from mart.orders as orders
    left join menus
        on orders.store_id = menus.store_id
        and orders.created_at >= menus.from_at
        and orders.created_at < menus.until_at
),
-- is_named: a modifier without an id matches nothing, not the product itself
items as not materialized (
    select order_id, line_no, product_id, price, true as is_named from core.order_lines
    union all by name
    select
        order_id, line_no, modifier_no, product_id, modifier_id, price,
        modifier_id is not null as is_named,
    from core.order_line_modifiers
),
sold as not materialized (
    select
        orders.* replace (if(items.is_named, orders.menu_scope_id, null) as menu_scope_id),
        items.* exclude (order_id, is_named),
    from items inner join orders using (order_id)
),
offers as not materialized (
    select 'menu' as offers_of, menu_id as menu_scope_id, * from workings.menu_offers
    union all by name
    select 'set' as offers_of, menu_set_no as menu_scope_id, * exclude (menu_set_no)
    from workings.menu_set_offers
    union all by name
    select
        'store' as offers_of, store_id as menu_scope_id, offered_product_id as product_id,
        offered_modifier_id as modifier_id,
        * exclude (store_id, offered_product_id, offered_modifier_id),
    from workings.first_menu_offers
)

select
    sold.order_id, sold.line_no, sold.modifier_no, sold.store_id, sold.business_date, sold.sale_class,
    sold.product_id, sold.modifier_id, sold.dispatch_method,
    coalesce(offers.menu_entry_count, 0) as menu_entry_count,
    case
        when sold.offers_of is null then 'menu_unknown'
        when sold.offers_of = 'store' and offers.menu_entry_count > 0 then 'first_seen_later'
        when offers.menu_entry_count = 1 then 'unique'
        when offers.menu_entry_count > 1 then 'ambiguous'
        -- it may be on a menu not observed by then, unless it names nothing
        when
            not sold.are_all_known
            and sold.menu_scope_id is not null
            and sold.product_id is not null
            then 'menu_unknown'
        else 'none'
    end as menu_match,
    offers.menu_id, offers.seen_at as menu_seen_at, sold.currency, sold.price,
    if(len(offers.prices) = 1, offers.prices[1], null) as menu_price,
    if(len(offers.delivery_prices) = 1, offers.delivery_prices[1], null) as menu_delivery_price,
    case
        when offers.menu_entry_count is null or sold.price is null then 'indeterminate'
        when list_contains(offers.prices, sold.price)
            and list_contains(offers.delivery_prices, sold.price) then 'both'
        when list_contains(offers.prices, sold.price) then 'price'
        when list_contains(offers.delivery_prices, sold.price) then 'delivery_price'
        when len(offers.prices) + len(offers.delivery_prices) = 0 then 'indeterminate'
        else 'neither'
    end as price_match,
    sold.price - menu_price as price_variance,
    sold.price - menu_delivery_price as delivery_price_variance,
from sold
left join offers -- equal keys and bounds only: others would force a nested loop
    on sold.offers_of = offers.offers_of
    and sold.menu_scope_id = offers.menu_scope_id
    and sold.product_id = offers.product_id
    and sold.modifier_id is not distinct from offers.modifier_id
    and sold.created_at >= coalesce(offers.offered_from, cast('-infinity' as timestamptz))
    and sold.created_at < coalesce(offers.offered_until, cast('infinity' as timestamptz))
