-- Over all days, by store and currency, mart.orders has the orders and amounts of core.orders.
-- severity: blocking
-- scope: all
with

core_orders as (
    select
        store_id,
        count(*) as order_count,
        sum(order_id) as order_ids,
        memory.stated_sums(
            1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from core.orders
    group by store_id
),

both_sides as (
    -- a currency is the store's, looked up for each store, not for each order
    select
        orders.store_id,
        coalesce(stores.currency, nullif(settings.finance_currency, '')) as currency,
        orders.order_count,
        orders.order_ids,
        orders.sums,
    from core_orders as orders
    cross join memory.raw.settings as settings
    left join core.stores as stores on orders.store_id = stores.store_id

    union all

    select
        store_id,
        currency,
        -count(*) as order_count,
        -sum(order_id) as order_ids,
        memory.stated_sums(
            -1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from mart.orders
    group by store_id, currency
)

select
    store_id as entity_id,
    coalesce(currency, 'no currency') as location,
    sum(sums[6]) as residual,
    sum(order_count) || ' orders' as detail,
from both_sides
group by store_id, currency
having sum(order_count) <> 0 or sum(order_ids) <> 0 or memory.sums_differ(sums)
