-- One row per store, business day, sale class and product sold.
with

-- few: counting each order once by a distinct count would cost more than all the rest
repeated as (
    select
        order_id,
        product_id,
        min(line_no) as first_line_no,
    from core.order_lines
    group by order_id, product_id
    having count(*) > 1
)

select
    -- keys
    orders.store_id,
    orders.business_date,
    orders.sale_class,
    lines.product_id,
    -- what it is
    max(lines.name) as name_when_ordered,
    coalesce(min(lines.name) <> max(lines.name), false) as is_named_differently,
    -- how much
    count(*) filter (
        where repeated.order_id is null or repeated.first_line_no = lines.line_no
    ) as orders,
    count(*) as lines,
    cast(sum(lines.quantity) as decimal(38, 0)) as units,
from mart.orders as orders
inner join core.order_lines as lines on orders.order_id = lines.order_id
left join repeated
    on lines.order_id = repeated.order_id
    and lines.product_id is not distinct from repeated.product_id
group by orders.store_id, orders.business_date, orders.sale_class, lines.product_id
