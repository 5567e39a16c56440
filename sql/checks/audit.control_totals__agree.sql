-- A store's day comes to what its control total states, in orders and in money.
-- severity: warning
select
    store_id as entity_id,
    strftime(business_date, '%Y-%m-%d') || ' ' || amount_field as location,
    amount_variance as residual,
    order_count_variance || ' orders off' as detail,
from audit.control_totals
where comparison = 'different'
