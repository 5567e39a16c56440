-- Payouts add up to the lines that name them, and to the credits of the bank.
-- severity: blocking
-- scope: all
with sums as (
    select platform, payout_ref, 'stated' as side, stated_amount as amount
    from mart.payouts
    union all
    select platform, payout_ref, 'bank', bank_amount from mart.payouts
    union all
    select platform, payout_ref, 'stated', -amount
    from mart.settlement_lines
    where payout_ref is not null
    union all
    select platform, payout_ref, 'bank', -amount from raw.bank_payouts
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', platform, payout_ref, side) as location,
    cast(sum(amount) as decimal(38, 4)) as residual,
from sums
group by platform, payout_ref, side
having sum(amount) <> 0
