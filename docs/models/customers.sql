-- One row per customer, sale class and currency.
--
-- Caveats: one person may have several keys, as customer_key of mart.orders says; who orders without phone or e-mail
-- is in no row. First and last are among orders of the class and currency that have been observed, not of all time.
--
-- key: customer_key, sale_class, currency
--
-- first_created_at TIMESTAMPTZ null: When the first order was created; null if none states it.
-- last_created_at TIMESTAMPTZ null: When the last order was created; null if none states it.
-- first_order_id BIGINT: The first order; of equal or no times the lowest id.
-- last_order_id BIGINT: The last order; of equal or no times the highest id.
-- order_count BIGINT >= 1: Number of orders.
-- priced_order_count BIGINT >= 0: How many of them state a total_price.
-- store_count BIGINT >= 0: Number of stores ordered from.
-- day_count BIGINT >= 0: Number of business days with an order.
select
    customer_key,
    sale_class,
    currency,
    -- when
    min(created_at) as first_created_at,
    max(created_at) as last_created_at,
    arg_min(order_id, (created_at, order_id)) as first_order_id,
    arg_max(
        order_id, (coalesce(created_at, '-infinity'::timestamptz), order_id)
    ) as last_order_id,
    -- quantities
    count(*) as order_count,
    count(total_price) as priced_order_count,
    count(distinct store_id) as store_count,
    count(distinct business_date) as day_count,
    -- money
    sum(subtotal_price) as subtotal_price,
    sum(discount) as discount,
    sum(loyalty_discount) as loyalty_discount,
    sum(total_price) as total_price,
from mart.orders
where customer_key is not null
group by customer_key, sale_class, currency
