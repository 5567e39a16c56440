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
    currency,
from mart.price_variances
where price_variance <> 0 and delivery_price_variance <> 0
    and business_date > (select max(business_date) - 28 from mart.orders)
qualify
    row_number() over (
        partition by currency
        order by abs(price_variance) desc, order_id, line_no, modifier_no
    ) <= 20
order by currency, abs(price_variance) desc, order_id, line_no, modifier_no
