-- One row per store, business day, sale class, platform and dispatch method.
--
-- Source: mart.orders; a blocking check ties counts and amounts to mart.daily_store_sales.
-- Caveats: platform and dispatch_method are as sent. The finer twin of mart.daily_store_sales: do not join the two.
--
-- key: store_id, business_date, sale_class, platform, dispatch_method
-- scope: day
--
-- unit_count: Sum of the orders' unit_count: an order without lines has 0 units, and one whose lines state no quantity adds nothing; null if all are such.
-- $price DECIMAL(38,4): Sum of $price over the orders that state it; null if none does.
select
    store_id,
    business_date,
    sale_class,
    platform,
    dispatch_method,
    -- store
    store_name,
    currency,
    -- quantities
    count(*) as order_count,
    count(total_price) as priced_order_count,
    cast(sum(line_count) as bigint) as line_count,
    cast(sum(unit_count) as decimal(38, 0)) as unit_count,
    -- money
    sum($price) as $price,
    divided(sum(total_price), count(total_price)) as average_order_value,
from mart.orders
-- one name and currency per store: they add no rows
group by
    store_id, business_date, sale_class, platform, dispatch_method, store_name, currency
