-- Which lines were sold at another price than the menu's?
select
    order_id,
    line_no,
    modifier_no,
    product_id,
    price,
    menu_price,
    menu_delivery_price,
    price_variance,
from mart.price_variances
where price_variance <> 0 and delivery_price_variance <> 0
order by abs(price_variance) desc, order_id, line_no, modifier_no
limit 20
