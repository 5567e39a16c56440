-- Which orders' amounts changed after they were placed?
select
    order_id,
    version_no,
    business_date,
    currency,
    previous_total_price,
    total_price,
    total_change,
    subtotal_change,
    delivery_change,
    tip_change,
    discount_change,
    loyalty_discount_change,
    was_closed,
from mart.order_amendments
order by currency, abs(total_change) desc nulls last, order_id, version_no
