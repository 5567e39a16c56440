-- Which products are bought together, in the last 28 days?
select
    one.product_id as product_id,
    other.product_id as other_product_id,
    count(distinct one.order_id) as order_count,
from mart.order_lines as one
inner join mart.order_lines as other
    on one.order_id = other.order_id and one.product_id < other.product_id
where one.sale_class = 'counted'
    and one.business_date > (select max(business_date) - 28 from mart.order_lines)
group by all
order by order_count desc, product_id, other_product_id
limit 20
