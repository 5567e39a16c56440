-- One row per store, business day, hour of the day and sale class.
--
-- Source: mart.orders; a blocking check ties counts and amounts to mart.daily_store_sales.
-- Caveats: the hour is that of created_at_local, whatever [business_day] time_field is; hours before [business_day]
-- day_start belong to the business day before. In the repeated hour of autumn two hours are one. An hour without
-- orders has no row.
--
-- key: store_id, business_date, hour, sale_class
-- scope: day
-- join mart.calendar (store_id, business_date): an hour has its day; the day's amounts repeat: do not sum them
--
-- hour: The hour in which orders were created, 0 to 23, in the store's time zone; null without created_at.
-- unit_count: Sum of the orders' unit_count: an order without lines has 0 units, and one whose lines state no quantity adds nothing; null if all are such.
-- $price DECIMAL(38,4): Sum of $price over the orders that state it; null if none does.
select
    store_id,
    business_date,
    extract(hour from created_at_local) as hour,
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
    sum($price) as $price,
    divided(sum(total_price), count(total_price)) as average_order_value,
from mart.orders
-- one name and currency per store: they add no rows
group by
    store_id,
    business_date,
    extract(hour from created_at_local),
    sale_class,
    store_name,
    currency
