-- Which breaks does a store's day have?
select
    business_date,
    store_id,
    sale_class,
    currency,
    break_count,
    subtotal_residual,
    total_residual,
from mart.daily_reconciliations
where break_count > 0
order by business_date desc, store_id, sale_class, currency
