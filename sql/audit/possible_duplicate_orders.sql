-- One row per order that repeats an earlier one: same customer, store and lines, within minutes.
--
-- Source: mart.orders, core.order_lines and core.order_line_modifiers; the minutes are [finance] duplicate_minutes.
-- Caveats: a suspicion: customers do order the same twice. No other table leaves these orders out. Lines are the same
-- if products, quantities, prices and modifiers are, in any order. Orders without a customer, a store, a time or lines
-- are not compared.
--
-- key: order_id
-- scope: customer
--
-- order_id: The later order, as the service numbers it.
-- original_order_id BIGINT: The earlier order that it repeats; the last of several.
-- customer_key not null
-- store_id not null: The store of both.
-- business_date: The business day of the later order; see mart.orders.
-- sale_class: The later order's sale class; see mart.orders.
-- created_at not null: When the later order was created.
-- seconds_later BIGINT >= 0: Seconds after the earlier one.
-- total_price: The later order's total, as sent.

-- First orders of one customer in one store within the minutes, with as many lines; of
-- these few, lines are compared, in any order.

-- Most orders have no other like them: a hash tells, before anything is sorted.
with repeated as (
    select hash(customer_key, store_id, line_count) as likeness
    from mart.orders
    where customer_key is not null and store_id is not null and line_count > 0
    group by likeness
    having count(*) > 1
),
orders as (
    select
        orders.order_id, orders.customer_key, orders.store_id, orders.business_date, orders.sale_class,
        orders.currency, orders.total_price, orders.line_count, orders.created_at,
        settings.finance_duplicate_minutes * interval 1 minute as within,
        lag(orders.created_at) over customers as before_at,
        lead(orders.created_at) over customers as after_at,
    from mart.orders as orders
    cross join raw.settings as settings
    semi join repeated on hash(orders.customer_key, orders.store_id, orders.line_count) = repeated.likeness
    where orders.created_at is not null
    window customers as (
        partition by orders.customer_key, orders.store_id, orders.line_count
        order by orders.created_at, orders.order_id
    )
),
close as (select * from orders where created_at - before_at <= within or after_at - created_at <= within),
modifiers as (
    select
        order_id, line_no,
        list_sort(list(row(modifier_id, action, quantity, price))) as modifiers,
    from core.order_line_modifiers semi join close using (order_id) group by order_id, line_no
),
contents as (
    select
        lines.order_id,
        list_sort(list(row(lines.product_id, lines.quantity, lines.price, modifiers.modifiers))) as contents,
    from core.order_lines as lines
    semi join close on lines.order_id = close.order_id
    left join modifiers on lines.order_id = modifiers.order_id and lines.line_no = modifiers.line_no
    group by lines.order_id
),
-- the last earlier order with the same contents; each is looked at once, however many one customer has
repeats as (
    select
        close.*,
        lag(close.order_id) over alike as original_order_id,
        lag(close.created_at) over alike as original_created_at,
    from close
    inner join contents using (order_id)
    window alike as (
        partition by close.customer_key, close.store_id, contents.contents
        order by close.created_at, close.order_id
    )
)

select
    order_id, original_order_id, customer_key, store_id, business_date, sale_class, created_at,
    date_diff('second', original_created_at, created_at) as seconds_later,
    currency, total_price,
from repeats
where created_at - original_created_at <= within
