-- Which products sold most in each store on the last day?
select
    store_id,
    store_name,
    business_date,
    unit_rank,
    product_id,
    ordered_name,
    unit_count,
    unit_share,
    currency,
    line_amount,
    sales_share,
from mart.product_mix
where
    sale_class = 'counted'
    and unit_rank <= 5
    and business_date = (select max(business_date) from mart.product_mix)
order by store_id, unit_rank, product_id
limit 100
