-- Which days are closed, with which amounts?
from mart.closed_days
order by business_date desc, store_id, platform, sale_class, measure, currency
