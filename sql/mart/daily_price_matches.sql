-- One row per store, day, sale class, dispatch method, item type and pair of matches.
select
    -- keys
    store_id,
    business_date,
    sale_class,
    dispatch_method,
    if(modifier_no is null, 'line', 'modifier') as item_type,
    menu_match,
    price_match,
    -- quantities
    count(*) as item_count,
    -- money
    currency,
    sum(price) as price,
    sum(price_variance) as price_variance,
    sum(delivery_price_variance) as delivery_price_variance,
from mart.price_variances
-- one currency per store: it adds no rows
group by
    store_id,
    business_date,
    sale_class,
    dispatch_method,
    item_type,
    menu_match,
    price_match,
    currency
