-- Which products sold most in each store on its last day that is over?
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
    and (store_id, business_date) in (
        select (store_id, max(business_date))
        from mart.calendar
        where is_day_over and counted_order_count > 0
        group by store_id
    )
order by store_id, unit_rank, product_id
limit 100
