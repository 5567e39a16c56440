-- What is a product called, in each store?
select
    store_id,
    product_id,
    product_name,
    is_on_menu,
    name_count,
from mart.store_products
order by store_id, product_id
limit 100
