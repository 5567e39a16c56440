-- Which statuses look like sales?
from audit.status_evidence
order by order_count desc, status, currency
