-- Which orders' amounts changed after they were placed?
select
    order_id,
    version_no,
    business_date,
    currency,
    previous_total_price,
    total_price,
    total_change,
    was_closed,
from mart.order_amendments
where total_change <> 0
order by currency, abs(total_change) desc, order_id, version_no
