-- Line amounts and unallocated amounts add up to subtotals, by store, day and sale class.
-- severity: blocking
-- Reads daily tables: other checks tie mart.product_mix to mart.order_lines, and
-- mart.daily_store_sales to mart.orders.
with

-- coalesce: an unstated amount adds nothing
sides as (
    select store_id, business_date, sale_class, unallocated_amount as amount,
    from mart.daily_reconciliations

    union all

    select store_id, business_date, sale_class, coalesce(line_amount, 0) as amount,
    from mart.product_mix

    union all

    select store_id, business_date, sale_class, -coalesce(subtotal_price, 0) as amount,
    from mart.daily_store_sales
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    sum(amount) as residual,
from sides
group by store_id, business_date, sale_class
having sum(amount) <> 0
