-- One row per store, business day, sale class and product sold.
with

sold as (
    select
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        lines.product_id,
        lines.order_id,
        lines.line_no,
        lines.quantity,
        lines.name,
    from mart.orders as orders
    inner join core.order_lines as lines on orders.order_id = lines.order_id
)

select
    -- keys
    store_id,
    business_date,
    sale_class,
    product_id,
    -- what it is
    arg_max(name, (order_id, line_no)) as name_when_ordered,
    count(distinct name) as names,
    -- how much
    count(distinct order_id) as orders,
    count(*) as lines,
    cast(sum(quantity) as decimal(38, 0)) as units,
from sold
group by store_id, business_date, sale_class, product_id
