-- One row per store, business day, sale class and product sold.
--
-- Source: mart.order_lines; blocking checks tie lines, units and amounts to it and to mart.orders.
-- Caveats: amounts follow the rule in force, before order-level discounts: see mart.order_lines. order_count counts an
-- order once per product, so it does not add up over products. Join menu names through mart.products, never
-- core.products, which has a row per menu.
--
-- key: store_id, business_date, sale_class, product_id
-- scope: day
-- join mart.daily_store_sales (store_id, business_date, sale_class): a product sold has the totals of its day; null stores and days find nothing
-- join mart.products (product_id): a product sold has all its names and menus
--
-- ordered_name VARCHAR null: The product's name on the order lines of that day; if they differ, the alphabetically last.
-- has_multiple_names BOOLEAN: Whether those lines have different names: a rename, or an id shared by several products.
-- order_count: Number of orders with the product; do not add over products.
-- line_count >= 1
-- unvalued_line_count BIGINT >= 0: Number of lines without an amount; if above 0, line_amount is incomplete.
with sold as (
    select
        store_id, business_date, sale_class, product_id,
        currency, -- one per store: adds no rows
        any_value(name) as name,
        any_value(store_name) as store_name, -- one per store, too
        count(distinct order_id) as order_count,
        count(*) as line_count, sum(quantity) as unit_count, sum(line_amount) as line_amount,
        count(line_amount) as valued_line_count,
    from mart.order_lines group by store_id, business_date, sale_class, product_id, currency
),
-- For speed: most products have one name.
renamed as (select product_id from mart.order_lines group by product_id having min(name) <> max(name)),
names as (
    select
        lines.store_id, lines.business_date, lines.sale_class, lines.product_id, lines.currency,
        min(lines.name) as first_name, max(lines.name) as last_name,
    from mart.order_lines as lines
    semi join renamed on lines.product_id is not distinct from renamed.product_id
    group by lines.store_id, lines.business_date, lines.sale_class, lines.product_id, lines.currency
)

select
    sold.store_id, sold.business_date, sold.sale_class, sold.product_id, sold.store_name,
    coalesce(names.last_name, sold.name) as ordered_name,
    coalesce(names.first_name <> names.last_name, false) as has_multiple_names,
    sold.order_count, sold.line_count,
    cast(sold.unit_count as decimal(38, 0)) as unit_count,
    sold.currency, sold.line_amount,
    sold.line_count - sold.valued_line_count as unvalued_line_count,
from sold
left join names
    on sold.store_id is not distinct from names.store_id
    and sold.business_date is not distinct from names.business_date
    and sold.sale_class = names.sale_class
    and sold.product_id is not distinct from names.product_id
    and sold.currency is not distinct from names.currency
