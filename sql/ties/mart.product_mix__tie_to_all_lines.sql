-- Over all days, by currency, lines, units and amounts of the product mix are the lines'.
-- severity: blocking
-- scope: all
with

-- coalesce: what no line states adds nothing on either side
both_sides as (
    select
        currency,
        sum(lines) as lines,
        sum(unvalued_line_count) as unvalued_line_count,
        coalesce(sum(units), 0) as units,
        coalesce(sum(line_amount), 0) as line_amount,
    from mart.product_mix
    group by currency

    union all

    select
        currency,
        -count(*) as lines,
        count(line_amount) - count(*) as unvalued_line_count,
        -coalesce(sum(quantity), 0) as units,
        -coalesce(sum(line_amount), 0) as line_amount,
    from mart.order_lines
    group by currency
),

differences as (
    select
        currency,
        sum(lines) as lines,
        sum(line_amount) as line_amount,
        sum(lines) <> 0
        or sum(unvalued_line_count) <> 0
        or sum(units) <> 0
        or sum(line_amount) <> 0 as is_off,
    from both_sides
    group by currency
)

select
    cast(null as bigint) as entity_id,
    coalesce(currency, 'no currency') as location,
    line_amount as residual,
    lines || ' lines' as detail,
from differences
where is_off
