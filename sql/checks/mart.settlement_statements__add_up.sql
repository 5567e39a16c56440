-- Gross, refunds and costs of a statement add up to its lines.
-- severity: blocking
-- scope: all
select
    cast(null as bigint) as entity_id,
    concat_ws(', ', 'ledger entry ' || entry_no, statement_ref, currency) as location,
    cast(gross_amount + refund_amount + cost_amount - net_amount as decimal(38, 4))
        as residual,
from mart.settlement_statements
where gross_amount + refund_amount + cost_amount <> net_amount
