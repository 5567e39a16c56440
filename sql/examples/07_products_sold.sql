-- What was sold how often, and for how much, in the last 28 days?
select
    product_id,
    max(ordered_name) as product_name,
    currency,
    sum(unit_count) as unit_count,
    sum(line_amount) as line_amount,
    sum(unvalued_line_count) as unvalued_line_count,
from mart.product_mix
where sale_class = 'counted'
    and business_date > (select max(business_date) - 28 from mart.product_mix)
group by product_id, currency
order by unit_count desc nulls last, product_id, currency
limit 20
