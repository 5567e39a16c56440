-- How often and how much are discounts and loyalty discounts used?
select
    store_id,
    currency,
    count(*) as order_count,
    count(*) filter (where discount > 0) as discounted_order_count,
    count(*) filter (where loyalty_discount > 0) as loyalty_order_count,
    sum(discount) as discount,
    sum(loyalty_discount) as loyalty_discount,
from mart.orders
where sale_class = 'counted'
group by store_id, currency
order by store_id, currency
