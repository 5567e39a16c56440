-- On which share of a product's lines is a modifier chosen?
with

lines as (
    select
        product_id,
        count(*) as line_count,
    from mart.order_lines
    where sale_class = 'counted'
    group by product_id
),

chosen as (
    select
        product_id,
        modifier_id,
        max(name) as modifier_name,
        count(distinct (order_id, line_no)) as chosen_line_count,
    from mart.order_line_modifiers
    where sale_class = 'counted'
    group by product_id, modifier_id
)

select
    chosen.*,
    lines.line_count,
    chosen.chosen_line_count / lines.line_count as attach_rate,
from chosen
inner join lines on chosen.product_id is not distinct from lines.product_id
order by chosen.chosen_line_count desc, chosen.product_id, chosen.modifier_id
limit 20
