-- Over all orders, each line and each modifier has its price in mart.price_variances once.
-- severity: blocking
-- scope: all
with

-- coalesce: what no line or modifier states adds nothing on either side
both_sides as (
    select
        count(*) as rows,
        count(modifier_no) as modifiers,
        coalesce(sum(modifier_no), 0) as modifier_nos,
        coalesce(sum(order_id), 0) as order_ids,
        coalesce(sum(price), 0) as price,
    from mart.price_variances

    union all

    select
        -count(*) as rows,
        0 as modifiers,
        0 as modifier_nos,
        -coalesce(sum(order_id), 0) as order_ids,
        -coalesce(sum(price), 0) as price,
    from core.order_lines

    union all

    select
        -count(*) as rows,
        -count(*) as modifiers,
        -coalesce(sum(modifier_no), 0) as modifier_nos,
        -coalesce(sum(order_id), 0) as order_ids,
        -coalesce(sum(price), 0) as price,
    from core.order_line_modifiers
)

select
    cast(null as bigint) as entity_id,
    'all orders' as location,
    sum(price) as residual,
    sum(rows) || ' rows, ' || sum(modifiers) || ' of them modifiers' as detail,
from both_sides
having
    sum(rows) <> 0
    or sum(modifiers) <> 0
    or sum(modifier_nos) <> 0
    or sum(order_ids) <> 0
    or sum(price) <> 0
