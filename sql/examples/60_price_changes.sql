-- Which menu prices changed, and how many units a day were sold before and after?
select
    menu_id,
    product_id,
    channel,
    changed_at,
    previous_price,
    price,
    units_per_day_before,
    units_per_day_after,
from mart.menu_price_changes
order by changed_at desc, menu_id, product_id, channel
