-- One row per store, business day, sale class and product sold.
with

-- few: counting each order once by a distinct count would cost more than all the rest
repeated as (
    select
        order_id,
        product_id,
        min(line_no) as first_line_no,
    from mart.order_lines
    group by order_id, product_id
    having count(*) > 1
)

select
    -- keys
    lines.store_id,
    lines.business_date,
    lines.sale_class,
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
    -- money
    lines.currency,
    sum(lines.line_amount) as line_amount,
    count(*) - count(lines.line_amount) as lines_not_valued,
from mart.order_lines as lines
left join repeated
    on lines.order_id = repeated.order_id
    and lines.product_id is not distinct from repeated.product_id
-- a store has one currency: it adds no rows
group by
    lines.store_id,
    lines.business_date,
    lines.sale_class,
    lines.product_id,
    lines.currency
