-- One row per store, business day and sale class.
select
    -- keys
    store_id,
    business_date,
    sale_class,
    -- store
    store_name,
    currency,
    -- quantities
    count(*) as order_count,
    count(*) filter (
        where subtotal_price is null
        or delivery_price is null
        or tip is null
        or discount is null
        or loyalty_discount is null
        or total_price is null
    ) as incomplete_order_count,
    cast(sum(line_count) as bigint) as line_count,
    cast(sum(unit_count) as decimal(38, 0)) as unit_count,
    -- money
    sum(subtotal_price) as subtotal_price,
    sum(delivery_price) as delivery_price,
    sum(tip) as tip,
    sum(discount) as discount,
    sum(loyalty_discount) as loyalty_discount,
    sum(total_price) as total_price,
    divided(sum(total_price), count(total_price)) as average_order_value,
from mart.orders
-- one name and currency per store: they add no rows
group by store_id, business_date, sale_class, store_name, currency
