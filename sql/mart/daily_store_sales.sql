-- One row per store, business day and sale class.
--
-- Source: mart.orders; a blocking check ties counts and amounts to it.
-- Caveats: sales are the rows with sale_class 'counted'; all four classes are everything placed. A row has one store,
-- hence one currency: add stores only within a currency. A field that an order does not state adds nothing.
--
-- key: store_id, business_date, sale_class
-- scope: day
--
-- incomplete_order_count BIGINT >= 0: Number of orders that do not state all six price fields.
-- unit_count: Sum of the orders' unit_count: an order without lines has 0 units, and one whose lines state no quantity adds nothing; null if all are such.
-- $price DECIMAL(38,4): Sum of $price over the orders that state it; null if none does.
-- average_order_value DECIMAL(38,4) null not additive: AOV: total_price by the number of orders that state it, to four decimals; null if none does. Not to be averaged again: divide sum(total_price) by sum(priced_order_count), never by sum(order_count).
select
    store_id, business_date, sale_class, store_name, currency, count(*) as order_count,
    count(total_price) as priced_order_count,
    count(*) filter (
        where subtotal_price is null or delivery_price is null or tip is null
        or discount is null or loyalty_discount is null or total_price is null
    ) as incomplete_order_count,
    cast(sum(line_count) as bigint) as line_count,
    cast(sum(unit_count) as decimal(38, 0)) as unit_count,
    sum($price) as $price,
    divided(sum(total_price), count(total_price)) as average_order_value,
from mart.orders
-- one name and currency per store: they add no rows
group by store_id, business_date, sale_class, store_name, currency
