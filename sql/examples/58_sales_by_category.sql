-- How much did each category sell in the last 28 days?
select
    products.category,
    mix.currency,
    sum(mix.unit_count) as unit_count,
    sum(mix.line_amount) as line_amount,
from mart.product_mix as mix
left join mart.products as products on mix.product_id = products.product_id
where mix.sale_class = 'counted'
    and mix.business_date > (select max(business_date) - 28 from mart.product_mix)
group by products.category, mix.currency
order by mix.currency, line_amount desc nulls last, products.category
