-- Was it sold at the menu's price or its delivery price, in the last 28 days?
select
    dispatch_method,
    modifier_no is not null as is_modifier,
    price_match,
    currency,
    count(*) as item_count,
from mart.price_variances
where sale_class = 'counted'
    and business_date > (select max(business_date) - 28 from mart.orders)
group by all
order by item_count desc, dispatch_method, is_modifier, price_match, currency
