-- One row per product that is on a menu, was on one, or was sold.
--
-- Source: core.products, core.menu_prices, core.price_groups, core.menu_product_versions, mart.product_mix and
-- [reference] products.
-- Caveats: if ids differ from menu to menu ([menus] product_id_scope = "per_menu"), a row may be several products:
-- names lists them; docs/models/store_products.sql makes a row per store. Sales are of every sale class: mart.product_mix
-- has them by class.
--
-- key: product_id
--
-- product_id not null: The product, as the service numbers it.
-- product_name: Its name on a menu now, of the lowest menu_id; else its latest name on an order; null without a name.
-- names VARCHAR[]: All names seen on menus and orders, sorted.
-- category VARCHAR null: Its category: by the file of [reference] products, else its price group on menus now, if all have it in one of the same name; else null.
-- category_source VARCHAR null: Where category is from: reference or menu; null without one.
-- price_group_names VARCHAR[]: The names of the price groups that menus now have it in, sorted.
-- is_on_menu BOOLEAN: Whether a menu has it now.
-- menu_ids BIGINT[]: The menus that have it now, sorted.
-- first_sold_date DATE null: The first business day on which it was ordered; null if never.
-- last_sold_date DATE null: The last business day on which it was ordered; null if never.
-- store_count BIGINT >= 0: Number of stores that sold it.
-- unit_count: Sum of the stated quantities; 0 if never sold, null if none is stated.
with on_menus as (
    select
        product_id,
        arg_min(name, menu_id) as name, -- ignores menus without a name
        list(menu_id order by menu_id) as menu_ids,
    from core.products group by product_id
),
sold as (
    select
        product_id,
        arg_max(ordered_name, (business_date, store_id, sale_class)) filter (
            where business_date is not null and ordered_name is not null
        ) as name,
        min(business_date) as first_sold_date, max(business_date) as last_sold_date,
        count(distinct store_id) as store_count,
        cast(sum(line_count) as bigint) as line_count,
        cast(sum(unit_count) as decimal(38, 0)) as unit_count,
    from mart.product_mix where product_id is not null group by product_id
),
names as (
    select product_id, name from core.products
    union
    select product_id, name from core.menu_product_versions
    union
    select product_id, ordered_name as name from mart.product_mix
),
known as (
    select
        product_id,
        -- ignores null
        list(distinct name order by name) filter (where name is not null) as names,
    from names where product_id is not null group by product_id
),
grouped as (
    select
        prices.product_id,
        coalesce(
            list(distinct groups.name order by groups.name) filter (where groups.name is not null), []
        ) as price_group_names,
        count(distinct prices.menu_id) filter (where groups.name is null) as unnamed_count,
    from core.menu_prices as prices
    left join core.price_groups as groups on prices.menu_id = groups.menu_id and prices.group_no = groups.group_no
    where prices.product_id is not null
    group by prices.product_id
),
categorised as (
    select
        product_id,
        if(len(price_group_names) = 1 and unnamed_count = 0, price_group_names[1], null) as category,
        price_group_names,
    from grouped
)

select
    known.product_id,
    coalesce(on_menus.name, sold.name, known.names[-1]) as product_name,
    coalesce(known.names, []) as names,
    coalesce(categories.category, categorised.category) as category,
    case
        when categories.category is not null then 'reference'
        when categorised.category is not null then 'menu'
    end as category_source,
    coalesce(categorised.price_group_names, []) as price_group_names,
    on_menus.product_id is not null as is_on_menu,
    coalesce(on_menus.menu_ids, []) as menu_ids,
    -- sales, of every class
    sold.first_sold_date, sold.last_sold_date, coalesce(sold.store_count, 0) as store_count,
    coalesce(sold.line_count, 0) as line_count,
    if(sold.product_id is null, 0, sold.unit_count) as unit_count,
from known
left join on_menus using (product_id)
left join sold using (product_id)
left join raw.product_categories as categories using (product_id)
left join categorised using (product_id)
