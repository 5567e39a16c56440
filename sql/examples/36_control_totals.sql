-- Do our orders tie to control totals?
from audit.control_totals
order by business_date desc, store_id, amount_field, sale_classes
