-- Which sets of statuses tie to control totals?
from audit.sales_set_evidence
order by statuses
