-- Does an order's total follow from its parts, and its subtotal from its lines?
select
    verdict,
    currency,
    count(*) as order_count,
    sum(total_residual) as total_residual,
from mart.order_reconciliation
group by verdict, currency
order by order_count desc, verdict, currency
