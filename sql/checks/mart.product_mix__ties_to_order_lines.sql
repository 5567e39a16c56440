-- Line amounts by store, day and sale class equal those of mart.order_lines.
-- severity: blocking
with

-- coalesce: a missing amount adds nothing on either side
both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        coalesce(line_amount, 0) as line_amount,
        unvalued_line_count,
    from mart.product_mix

    union all

    select
        store_id,
        business_date,
        sale_class,
        -coalesce(line_amount, 0) as line_amount,
        -if(line_amount is null, 1, 0) as unvalued_line_count,
    from mart.order_lines
),

differences as (
    select
        store_id,
        business_date,
        sale_class,
        sum(line_amount) as line_amount,
        sum(unvalued_line_count) as unvalued_line_count,
    from both_sides
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    line_amount as residual,
    unvalued_line_count || ' unvalued lines too many' as detail,
from differences
where line_amount <> 0 or unvalued_line_count <> 0
