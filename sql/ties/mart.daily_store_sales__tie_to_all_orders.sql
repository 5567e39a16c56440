-- Over all days, by day, class and currency, daily sales are those of mart.orders.
-- severity: blocking
-- scope: all
with

-- coalesce: a quantity that no order states adds nothing on either side
both_sides as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        cast(sum(cast(store_id as hugeint) * order_count) as decimal(38, 0)) as store_ids,
        sum(line_count) as line_count,
        coalesce(sum(unit_count), 0) as unit_count,
        memory.stated_sums(
            1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from mart.daily_store_sales
    group by business_date, sale_class, currency

    union all

    select
        business_date,
        sale_class,
        currency,
        -count(*) as order_count,
        -cast(sum(store_id) as decimal(38, 0)) as store_ids,
        -sum(line_count) as line_count,
        -coalesce(sum(unit_count), 0) as unit_count,
        memory.stated_sums(
            -1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from mart.orders
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
having
    sum(order_count) <> 0
    or sum(store_ids) <> 0
    or sum(line_count) <> 0
    or sum(unit_count) <> 0
    or memory.sums_differ(sums)
