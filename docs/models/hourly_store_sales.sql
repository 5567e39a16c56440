-- One row per store, business day, hour of the day and sale class with orders.
--
-- Caveats: the hour is that of created_at_local, whatever [business_day] time_field is; hours before [business_day]
-- day_start belong to the business day before. In the repeated hour of autumn two hours are one. An average order value
-- is sum(total_price) by sum(priced_order_count).
--
-- key: store_id, business_date, hour, sale_class
--
-- hour BIGINT null >= 0 <= 23: The hour in which orders were created, in the store's time zone; null without created_at.
-- order_count BIGINT >= 1: Number of orders.
-- priced_order_count BIGINT >= 0: How many of them state a total_price.
-- unit_count DECIMAL(38,0) null: Sum of the orders' unit_count; null if no line states a quantity.
select
    store_id,
    business_date,
    hour,
    sale_class,
    any_value(daypart) as daypart, -- one per hour
    -- store
    store_name,
    currency,
    -- quantities
    count(*) as order_count,
    count(total_price) as priced_order_count,
    cast(sum(line_count) as bigint) as line_count,
    cast(sum(unit_count) as decimal(38, 0)) as unit_count,
    -- money
    sum(subtotal_price) as subtotal_price,
    sum(delivery_price) as delivery_price,
    sum(tip) as tip,
    sum(discount) as discount,
    sum(loyalty_discount) as loyalty_discount,
    sum(total_price) as total_price,
from mart.orders
-- one name and currency per store: they add no rows
group by store_id, business_date, hour, sale_class, store_name, currency
