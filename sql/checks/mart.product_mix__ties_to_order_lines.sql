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
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    sum(line_amount) as residual,
    sum(unvalued_line_count) || ' unvalued lines too many' as detail,
from both_sides
group by store_id, business_date, sale_class
having sum(line_amount) <> 0 or sum(unvalued_line_count) <> 0
