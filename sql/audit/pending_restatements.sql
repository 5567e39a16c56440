-- One row per order, place and part whose booked amount is not what the order adds now.
--
-- Booked is what was sealed plus what was restated since, under the seals in force. Whole
-- days are compared first, by a fingerprint of their orders; only places that differ, or
-- were restated before, are looked at order by order.
with

every_store as (
    select business_date, close_entry_no from raw.day_closes where is_every_store
),

own as (
    select business_date, store_id, close_entry_no from raw.day_closes where not is_every_store
),

closed_orders as not materialized (
    select sealed.*
    from raw.closed_orders as sealed
    left join own
        on sealed.business_date = own.business_date
        and sealed.store_id = own.store_id
    left join every_store on sealed.business_date = every_store.business_date
    where
        sealed.close_entry_no
        = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
),

restated as (
    select restated.*
    from raw.restated as restated
    left join own
        on restated.business_date = own.business_date
        and restated.store_id = own.store_id
    left join every_store on restated.business_date = every_store.business_date
    where
        restated.close_entry_no
        = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
),

days_now as (
    select days.*
    from audit.daily_fingerprints as days
    left join own
        on days.business_date = own.business_date
        and days.store_id = own.store_id
    left join every_store on days.business_date = every_store.business_date
    where if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) is not null
),

prints as (
    select
        business_date,
        store_id,
        sale_class,
        fingerprint,
        orders,
    from audit.closed_day_totals

    union all

    select
        business_date,
        store_id,
        sale_class,
        fingerprint,
        orders,
    from days_now
),

places as (
    select
        business_date,
        store_id,
        sale_class,
    from prints
    group by business_date, store_id, sale_class
    having
        count(*) < 2
        or min(fingerprint) <> max(fingerprint)
        or min(orders) <> max(orders)

    union

    select
        business_date,
        store_id,
        sale_class,
    from restated
),

-- of the places that are looked at alone: all other orders stay unread
orders_there as not materialized (
    select orders.*
    from mart.order_reconciliation as orders
    semi join places
        on orders.business_date = places.business_date
        and orders.store_id is not distinct from places.store_id
        and orders.sale_class = places.sale_class
),

orders_now as not materialized (
    select
        orders.*,
        if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) as close_entry_no,
    from orders_there as orders
    left join own
        on orders.business_date = own.business_date
        and orders.store_id = own.store_id
    left join every_store on orders.business_date = every_store.business_date
    where if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) is not null
),

-- absence of a part adds nothing to a sum: zero from here on
sides as (
    select
        sealed.close_entry_no,
        sealed.order_id,
        sealed.store_id,
        sealed.business_date,
        sealed.sale_class,
        sealed.currency,
        unnest([
            {'part': 'orders', 'amount': cast(1 as decimal(38, 4))},
            {'part': 'subtotal_price', 'amount': sealed.subtotal_price},
            {'part': 'delivery_price', 'amount': sealed.delivery_price},
            {'part': 'tip', 'amount': sealed.tip},
            {'part': 'discount', 'amount': sealed.discount},
            {'part': 'loyalty_discount', 'amount': sealed.loyalty_discount},
            {'part': 'total_price', 'amount': sealed.total_price},
            {'part': 'line_amount', 'amount': sealed.line_amount},
        ], recursive := true),
        'sealed' as side,
    from closed_orders as sealed
    semi join places
        on sealed.business_date = places.business_date
        and sealed.store_id is not distinct from places.store_id
        and sealed.sale_class = places.sale_class

    union all

    select
        orders.close_entry_no,
        orders.order_id,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.currency,
        unnest([
            {'part': 'orders', 'amount': cast(1 as decimal(38, 4))},
            {'part': 'subtotal_price', 'amount': orders.subtotal_price},
            {'part': 'delivery_price', 'amount': orders.delivery_price},
            {'part': 'tip', 'amount': orders.tip},
            {'part': 'discount', 'amount': orders.discount},
            {'part': 'loyalty_discount', 'amount': orders.loyalty_discount},
            {'part': 'total_price', 'amount': orders.total_price},
            {'part': 'line_amount', 'amount': orders.line_amount},
        ], recursive := true),
        'now' as side,
    from orders_now as orders

    union all

    select
        close_entry_no,
        order_id,
        store_id,
        business_date,
        sale_class,
        currency,
        part,
        difference as amount,
        'restated' as side,
    from restated
),

added as (
    select
        close_entry_no,
        order_id,
        store_id,
        business_date,
        sale_class,
        part,
        max(currency) as currency,
        coalesce(sum(amount) filter (where side = 'sealed'), 0) as sealed,
        coalesce(sum(amount) filter (where side = 'restated'), 0) as prior_restated_amount,
        coalesce(sum(amount) filter (where side = 'now'), 0) as now,
    from sides
    group by close_entry_no, order_id, store_id, business_date, sale_class, part
)

select
    -- keys
    order_id,
    store_id,
    business_date,
    sale_class,
    part,
    close_entry_no,
    -- money
    currency,
    cast(sealed as decimal(38, 4)) as sealed,
    cast(prior_restated_amount as decimal(38, 4)) as prior_restated_amount,
    cast(now as decimal(38, 4)) as now,
    cast(now - sealed - prior_restated_amount as decimal(38, 4)) as difference,
from added
where now <> sealed + prior_restated_amount
