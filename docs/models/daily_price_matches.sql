-- One row per store, business day, sale class, dispatch method, item type, menu match and price match.
--
-- Caveats: sums of unit or line prices, each counted once whatever the quantity: not sales.
--
-- key: store_id, business_date, sale_class, dispatch_method, item_type, menu_match, price_match
--
-- item_type VARCHAR: Whether the row counts lines or modifiers.
-- item_count BIGINT >= 1: Number of lines or modifiers.
-- price DECIMAL(38,4) null: Sum of their prices, each counted once whatever the quantity.
-- price_variance DECIMAL(38,4) null: Sum of their known price variances.
-- delivery_price_variance DECIMAL(38,4) null: Sum of their known delivery price variances.
select
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
    store_id, business_date, sale_class, dispatch_method, item_type, menu_match,
    price_match, currency
