-- Which products were not sold for a long time?
from mart.products
where is_on_menu
order by last_sold_date nulls first, product_id
limit 20
