-- One row per order line and per modifier of a line: its price against the menus then.
--
-- A store with one menu looks offers up in that menu. For stores with several menus the
-- offers of all of them are merged first, for the items sold there.
with

menus as not materialized (
    select
        known.store_id,
        coalesce(known.known_from, cast('-infinity' as timestamptz)) as from_at,
        coalesce(known.known_until, cast('infinity' as timestamptz)) as until_at,
        known.are_all_known,
        count(*) > 1 as are_several,
        if(are_several, known.store_id, any_value(store_menus.menu_id))
            as menu_scope_id,
    from audit.stores_with_menus as known
    inner join core.store_menus as store_menus on known.store_id = store_menus.store_id
    group by known.store_id, known.known_from, known.known_until, known.are_all_known
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
        menus.store_id is not null as is_menu_known,
        menus.are_all_known,
        menus.are_several,
        menus.menu_scope_id,
    from mart.orders as orders
    left join menus
        on orders.store_id = menus.store_id
        and orders.created_at >= menus.from_at
        and orders.created_at < menus.until_at
),

-- is_named: a modifier without an id matches nothing, not the product itself
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
        orders.* replace (
            if(items.is_named, orders.menu_scope_id, null) as menu_scope_id
        ),
        items.* exclude (order_id, is_named),
    from items
    inner join orders on items.order_id = orders.order_id
),

spans as not materialized (
    select
        menu_id,
        product_id,
        modifier_id,
        coalesce(offered_from, cast('-infinity' as timestamptz)) as from_at,
        coalesce(offered_until, cast('infinity' as timestamptz)) as until_at,
        menu_entry_count,
        prices,
        delivery_prices,
    from audit.menu_offers
),

-- materialized: else it is joined to the offers of all stores, before its menus
sold_of_several as materialized (
    select distinct store_id, product_id, modifier_id,
    from sold
    where are_several and menu_scope_id is not null
),

spans_of_several as (
    select sold.store_id, spans.*,
    from sold_of_several as sold
    inner join core.store_menus as store_menus on sold.store_id = store_menus.store_id
    inner join spans
        on store_menus.menu_id = spans.menu_id
        and sold.product_id = spans.product_id
        and sold.modifier_id is not distinct from spans.modifier_id
),

bounds_of_several as (
    select store_id, product_id, modifier_id, from_at as at_time from spans_of_several
    union
    select store_id, product_id, modifier_id, until_at as at_time from spans_of_several
),

intervals_of_several as (
    select
        store_id,
        product_id,
        modifier_id,
        at_time as from_at,
        lead(at_time) over (
            partition by store_id, product_id, modifier_id order by at_time
        ) as until_at,
    from bounds_of_several
),

offers as (
    select false as are_several, menu_id as menu_scope_id, *,
    from spans

    union all

    select
        true as are_several,
        intervals.store_id as menu_scope_id,
        -- of offers of several menus none is named
        if(count(distinct spans.menu_id) = 1, any_value(spans.menu_id), null) as menu_id,
        intervals.product_id,
        intervals.modifier_id,
        intervals.from_at,
        intervals.until_at,
        cast(sum(spans.menu_entry_count) as bigint) as menu_entry_count,
        list_distinct(flatten(list(spans.prices))) as prices,
        list_distinct(flatten(list(spans.delivery_prices))) as delivery_prices,
    from intervals_of_several as intervals
    inner join spans_of_several as spans
        on intervals.store_id = spans.store_id
        and intervals.product_id = spans.product_id
        and intervals.modifier_id is not distinct from spans.modifier_id
        and spans.from_at <= intervals.from_at
        and spans.until_at >= intervals.until_at
    group by
        intervals.store_id,
        intervals.product_id,
        intervals.modifier_id,
        intervals.from_at,
        intervals.until_at
)

select
    -- keys
    sold.order_id,
    sold.line_no,
    sold.modifier_no,
    sold.store_id,
    sold.business_date,
    sold.sale_class,
    sold.product_id,
    sold.modifier_id,
    -- dispatch
    sold.dispatch_method,
    -- match with the menus then
    coalesce(offers.menu_entry_count, 0) as menu_entry_count,
    case
        when not sold.is_menu_known then 'menu_unknown'
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
    offers.menu_id,
    -- money
    sold.currency,
    sold.price,
    if(len(offers.prices) = 1, offers.prices[1], null) as menu_price,
    if(len(offers.delivery_prices) = 1, offers.delivery_prices[1], null)
        as menu_delivery_price,
    -- outcome
    case
        when
            not sold.is_menu_known
            or offers.menu_entry_count is null
            or sold.price is null
            then 'indeterminate'
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
    on sold.are_several = offers.are_several
    and sold.menu_scope_id = offers.menu_scope_id
    and sold.product_id = offers.product_id
    and sold.modifier_id is not distinct from offers.modifier_id
    and sold.created_at >= offers.from_at
    and sold.created_at < offers.until_at
