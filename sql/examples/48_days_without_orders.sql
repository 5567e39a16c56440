-- Which days before a store's last order had none, and are they over and complete?
from mart.calendar
where order_count = 0
order by business_date desc, store_id
limit 100
