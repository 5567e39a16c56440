-- What does a product cost, by store and channel?
select
    store_menus.store_id,
    prices.product_id,
    products.name as product_name,
    prices.channel,
    prices.price,
    prices.delivery_price,
from core.menu_prices as prices
inner join core.products as products
    on prices.menu_id = products.menu_id and prices.product_id = products.product_id
inner join core.store_menus as store_menus on prices.menu_id = store_menus.menu_id
order by store_menus.store_id, prices.product_id, prices.channel, prices.price
limit 100
