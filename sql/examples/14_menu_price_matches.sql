-- Was it sold at the menu's price or its delivery price?
select
    dispatch_method,
    item_type,
    price_match,
    currency,
    sum(item_count) as item_count,
from mart.daily_price_matches
where sale_class = 'counted'
group by all
order by item_count desc, dispatch_method, item_type, price_match, currency
