-- Which lines of the last 28 days were sold at another price than the menu's?
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
    and business_date > (select max(business_date) - 28 from mart.orders)
order by abs(price_variance) desc, order_id, line_no, modifier_no
limit 20
