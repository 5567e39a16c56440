-- Over all orders, each line and each modifier has its price in mart.price_variances once.
-- severity: blocking
-- scope: all
with

-- coalesce: what no line or modifier states adds nothing on either side
both_sides as (
    select
        modifier_no is null as is_line,
        count(*) as rows,
        coalesce(sum(order_id), 0) as order_ids,
        coalesce(sum(price), 0) as price,
    from mart.price_variances
    group by is_line

    union all

    select
        true as is_line,
        -count(*) as rows,
        -coalesce(sum(order_id), 0) as order_ids,
        -coalesce(sum(price), 0) as price,
    from core.order_lines

    union all

    select
        false as is_line,
        -count(*) as rows,
        -coalesce(sum(order_id), 0) as order_ids,
        -coalesce(sum(price), 0) as price,
    from core.order_line_modifiers
),

differences as (
    select
        is_line,
        sum(rows) as rows,
        sum(price) as price,
        sum(rows) <> 0 or sum(order_ids) <> 0 or sum(price) <> 0 as is_off,
    from both_sides
    group by is_line
)

select
    cast(null as bigint) as entity_id,
    if(is_line, 'lines', 'modifiers') as place,
    price as residual,
    rows || ' rows' as detail,
from differences
where is_off
