-- A statement starts from the balance that the one before leaves; a gap between them, and an error of rounding, are breaks.
-- severity: blocking
-- scope: all
with breaks as (
    select platform, currency, amount
    from audit.settlement_breaks where break_kind in ('statement_gap', 'statement_rounding')
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', 'ledger entry ' || entry_no, statement_ref, currency) as location,
    coalesce(gap_amount, rounding_amount) as residual,
from mart.settlement_statements as later
where
    not exists (
        select 1 from mart.settlement_statements as earlier
        where
            earlier.platform = later.platform
            and earlier.currency = later.currency
            and earlier.closing_amount = later.opening_amount - later.gap_amount
    ) and gap_amount is not null
    or gap_amount <> 0
    and (platform, currency, gap_amount) not in (from breaks)
    or rounding_amount <> 0
    and (platform, currency, rounding_amount) not in (from breaks)
