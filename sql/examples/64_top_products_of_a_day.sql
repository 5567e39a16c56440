-- Which products sold most in each store on its last day that is over?
select
    store_id,
    store_name,
    business_date,
    rank() over days as unit_rank,
    product_id,
    ordered_name,
    unit_count,
    currency,
    line_amount,
from mart.product_mix
where
    sale_class = 'counted'
    and unit_count is not null
    and (store_id, business_date) in (
        select (store_id, max(business_date))
        from mart.calendar
        where is_day_over and counted_order_count > 0
        group by store_id
    )
window days as (partition by store_id, business_date order by unit_count desc)
qualify unit_rank <= 5
order by store_id, unit_rank, product_id
limit 100
