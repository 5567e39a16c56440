-- By statement and currency lines add up to the sums that the ledger has of the file.
-- severity: blocking
-- scope: all
with sums as (
    select entry_no, statement_ref, currency, amount
    from raw.settlement_statements
    union all
    select entry_no, statement_ref, currency, -amount
    from mart.settlement_lines
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', 'ledger entry ' || entry_no, statement_ref, currency) as location,
    cast(sum(amount) as decimal(38, 4)) as residual,
from sums
group by entry_no, statement_ref, currency
having sum(amount) <> 0
