-- Gross, refunds and costs of a statement add up to its lines; opening, lines and rounding to paid and closing.
-- severity: blocking
-- scope: all
select
    cast(null as bigint) as entity_id,
    concat_ws(', ', 'ledger entry ' || entry_no, statement_ref, currency, side) as location,
    cast(residual as decimal(38, 4)) as residual,
from (
    select
        *,
        unnest(['lines', 'balances']) as side,
        unnest([
            gross_amount + refund_amount + cost_amount - net_amount,
            coalesce(opening_amount, 0) + net_amount + rounding_amount - paid_amount - coalesce(closing_amount, 0),
        ]) as residual,
    from mart.settlement_statements
)
where residual <> 0 or (residual is null and paid_amount is not null)
