-- Do our orders tie to control totals?
select
    business_date,
    store_id,
    amount_field,
    tie_out_status,
    control_amount,
    actual_amount,
    amount_variance,
from audit.control_totals
order by business_date desc, store_id, amount_field, sale_classes
