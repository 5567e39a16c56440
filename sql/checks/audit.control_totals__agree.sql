-- A store-day's orders and amount tie out to its control total.
-- severity: warning
select
    store_id as entity_id,
    strftime(business_date, '%Y-%m-%d') || ' ' || amount_field as location,
    amount_variance as residual,
    order_count_variance || ' orders' as detail,
from audit.control_totals
where tie_out_status = 'variance'
