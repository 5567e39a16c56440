-- A closed day's current amounts equal the day's sales, per sale class and currency.
-- severity: blocking
-- scope: all
with totals as (
    select
        business_date, store_id, sale_class, currency,
        sum(current_amount) filter (where measure = 'order_count') as order_count,
        sum(current_amount) filter (where measure = 'total_price') as total_price,
    from mart.closed_days
    group by business_date, store_id, sale_class, currency
)

select
    cast(null as bigint) as entity_id,
    concat_ws(
        ', ', totals.business_date, 'store ' || totals.store_id, totals.sale_class
    ) as location,
    -- a day without orders, or without any total, adds nothing
    cast(
        totals.total_price - coalesce(sales.total_price, 0) as decimal(38, 4)
    ) as residual,
from totals
left join mart.daily_store_sales as sales
    on totals.business_date = sales.business_date
    and totals.store_id is not distinct from sales.store_id
    and totals.sale_class = sales.sale_class
    and totals.currency is not distinct from sales.currency
where
    totals.order_count <> coalesce(sales.order_count, 0)
    or totals.total_price <> coalesce(sales.total_price, 0)
