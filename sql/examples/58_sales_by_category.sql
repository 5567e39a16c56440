-- How much does each product category sell, by your own categories?
select
    products.category,
    mix.currency,
    sum(mix.unit_count) as unit_count,
    sum(mix.line_amount) as line_amount,
from mart.product_mix as mix
left join mart.products as products on mix.product_id = products.product_id
where mix.sale_class = 'counted'
group by products.category, mix.currency
order by mix.currency, line_amount desc nulls last, products.category
