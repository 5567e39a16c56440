-- Over all days, by currency, lines, units and amounts of the product mix are the lines'.
-- severity: blocking
-- scope: all
with

-- coalesce: what no line states adds nothing on either side
both_sides as (
    select
        currency,
        sum(line_count) as line_count,
        sum(unvalued_line_count) as unvalued_line_count,
        coalesce(sum(unit_count), 0) as unit_count,
        coalesce(sum(line_amount), 0) as line_amount,
    from mart.product_mix
    group by currency

    union all

    select
        currency,
        -count(*) as line_count,
        count(line_amount) - count(*) as unvalued_line_count,
        -coalesce(sum(quantity), 0) as unit_count,
        -coalesce(sum(line_amount), 0) as line_amount,
    from mart.order_lines
    group by currency
)

select
    cast(null as bigint) as entity_id,
    coalesce(currency, 'no currency') as location,
    sum(line_amount) as residual,
    sum(line_count) || ' lines' as detail,
from both_sides
group by currency
having
    sum(line_count) <> 0
    or sum(unvalued_line_count) <> 0
    or sum(unit_count) <> 0
    or sum(line_amount) <> 0
