-- One row per customer, sale class and currency.
select
    -- keys
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
