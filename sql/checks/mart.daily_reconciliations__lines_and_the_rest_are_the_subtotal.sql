-- Per store, business day and sale class, lines and what is on none make the subtotal.
-- severity: blocking
-- Read from days: claims of their own hold mart.product_mix to the lines, and
-- mart.daily_store_sales to mart.orders.
with

-- coalesce: what no line or no order states adds nothing
sides as (
    select store_id, business_date, sale_class, unallocated_amount as amount,
    from mart.daily_reconciliations

    union all

    select store_id, business_date, sale_class, coalesce(line_amount, 0) as amount,
    from mart.product_mix

    union all

    select store_id, business_date, sale_class, -coalesce(subtotal_price, 0) as amount,
    from mart.daily_store_sales
),

differences as (
    select
        store_id,
        business_date,
        sale_class,
        sum(amount) as amount,
    from sides
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    amount as residual,
from differences
where amount <> 0
