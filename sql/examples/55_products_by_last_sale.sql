-- Which products were not sold for a long time?
select
    product_id,
    product_name,
    names,
    is_on_menu,
    last_sold_date,
    unit_count,
from mart.products
where is_on_menu
order by last_sold_date nulls first, product_id
limit 20
