-- Over all days, by day, class and currency, the product mix is that of mart.order_lines.
-- severity: blocking
-- scope: all
with

-- coalesce: what no line states adds nothing on either side
both_sides as (
    select
        business_date,
        sale_class,
        currency,
        sum(lines) as lines,
        sum(unvalued_line_count) as unvalued_line_count,
        coalesce(sum(units), 0) as units,
        coalesce(sum(line_amount), 0) as line_amount,
    from mart.product_mix
    group by business_date, sale_class, currency

    union all

    select
        business_date,
        sale_class,
        currency,
        -count(*) as lines,
        count(line_amount) - count(*) as unvalued_line_count,
        -coalesce(sum(quantity), 0) as units,
        -coalesce(sum(line_amount), 0) as line_amount,
    from mart.order_lines
    group by business_date, sale_class, currency
),

differences as (
    select
        business_date,
        sale_class,
        currency,
        sum(lines) as lines,
        sum(line_amount) as line_amount,
        sum(lines) <> 0
        or sum(unvalued_line_count) <> 0
        or sum(units) <> 0
        or sum(line_amount) <> 0 as is_off,
    from both_sides
    group by business_date, sale_class, currency
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', coalesce(cast(business_date as varchar), 'no day'), sale_class, currency)
        as place,
    line_amount as residual,
    lines || ' lines' as detail,
from differences
where is_off
