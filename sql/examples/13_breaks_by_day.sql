-- Which breaks does a store's day have?
from mart.daily_reconciliations
where break_count > 0
order by business_date desc, store_id, sale_class, currency
