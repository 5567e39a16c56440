-- Which lines of the last 28 days were sold at none of the menu's prices?
from mart.price_variances
where price_match = 'neither'
    and business_date > (select max(business_date) - 28 from mart.orders)
qualify
    row_number() over (
        partition by currency
        order by abs(price_variance) desc nulls last, order_id, line_no, modifier_no
    ) <= 20
order by currency, abs(price_variance) desc nulls last, order_id, line_no, modifier_no
