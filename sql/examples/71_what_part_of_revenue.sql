-- What part of what customers paid are tips, delivery and components of the settings?
select
    sale_class,
    currency,
    count(*) as order_count,
    -- the total of each order with its tip, whether it contains it or not
    sum(total_price - tip_in_total + tip) as paid,
    round(100 * sum(tip) filter (where tip_in_total is not null) / paid, 2) as tip_percent,
    round(100 * sum(delivery_price) filter (where tip_in_total is not null) / paid, 2)
        as delivery_percent,
    round(100 * sum(components_amount) / paid, 2) as component_percent,
from mart.order_reconciliation
group by sale_class, currency
order by sale_class, currency
