-- Over all days, by day, class and currency, orders and amounts are those of daily sales.
-- severity: blocking
-- scope: all
with

both_sides as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        memory.stated_sums(
            1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from mart.daily_reconciliations
    group by business_date, sale_class, currency

    union all

    select
        business_date,
        sale_class,
        currency,
        -sum(order_count) as order_count,
        memory.stated_sums(
            -1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from mart.daily_store_sales
    group by business_date, sale_class, currency
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', coalesce(cast(business_date as varchar), 'no day'), sale_class, currency)
        as location,
    sum(sums[6]) as residual,
    sum(order_count) || ' orders' as detail,
from both_sides
group by business_date, sale_class, currency
having sum(order_count) <> 0 or memory.sums_differ(sums)
