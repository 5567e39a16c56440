-- Which statuses look like sales?
select
    status,
    currency,
    sale_class,
    order_count,
    total_price,
    transition_rate,
    next_statuses,
from audit.status_evidence
order by order_count desc, status, currency
