-- Over all days, by store and currency, mart.orders has the orders and amounts of core.orders.
-- severity: blocking
-- scope: all
with

-- a currency is the store's, looked up for each store, not for each order
core_orders as (
    select
        store_id,
        count(*) as order_count,
        sum(order_id) as order_ids,
        sum(subtotal_price) as subtotal_price,
        sum(delivery_price) as delivery_price,
        sum(tip) as tip,
        sum(discount) as discount,
        sum(loyalty_discount) as loyalty_discount,
        sum(total_price) as total_price,
    from core.orders
    group by store_id
),

core_currencies as (
    select
        orders.* exclude (store_id),
        orders.store_id,
        coalesce(stores.currency, nullif(settings.finance_currency, '')) as currency,
    from core_orders as orders
    cross join memory.raw.settings as settings
    left join core.stores as stores on orders.store_id = stores.store_id
),

-- coalesce: an amount that no order states adds nothing on either side
both_sides as (
    select
        store_id,
        currency,
        order_count,
        order_ids,
        coalesce(subtotal_price, 0) as subtotal_price,
        coalesce(delivery_price, 0) as delivery_price,
        coalesce(tip, 0) as tip,
        coalesce(discount, 0) as discount,
        coalesce(loyalty_discount, 0) as loyalty_discount,
        coalesce(total_price, 0) as total_price,
    from core_currencies

    union all

    select
        store_id,
        currency,
        -count(*) as order_count,
        -sum(order_id) as order_ids,
        -coalesce(sum(subtotal_price), 0) as subtotal_price,
        -coalesce(sum(delivery_price), 0) as delivery_price,
        -coalesce(sum(tip), 0) as tip,
        -coalesce(sum(discount), 0) as discount,
        -coalesce(sum(loyalty_discount), 0) as loyalty_discount,
        -coalesce(sum(total_price), 0) as total_price,
    from mart.orders
    group by store_id, currency
),

differences as (
    select
        store_id,
        currency,
        sum(order_count) as order_count,
        sum(total_price) as total_price,
        sum(order_count) <> 0
        or sum(order_ids) <> 0
        or sum(subtotal_price) <> 0
        or sum(delivery_price) <> 0
        or sum(tip) <> 0
        or sum(discount) <> 0
        or sum(loyalty_discount) <> 0
        or sum(total_price) <> 0 as is_off,
    from both_sides
    group by store_id, currency
)

select
    store_id as entity_id,
    coalesce(currency, 'no currency') as location,
    total_price as residual,
    order_count || ' orders' as detail,
from differences
where is_off
