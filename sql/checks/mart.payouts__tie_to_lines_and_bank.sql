-- Payouts add up to the lines that name them and what statements carry, to the credits and fees of the bank, and to what is between them.
-- severity: blocking
-- scope: all
with sums as (
    select
        platform, payout_ref,
        unnest(['lines', 'bank', 'fee', 'difference', 'carried']) as side,
        unnest([
            stated_amount - carried_amount, bank_amount, bank_fee_amount,
            stated_amount - bank_amount - bank_fee_amount - difference,
            carried_amount,
        ]) as amount,
    from mart.payouts
    union all
    select platform, payout_ref, 'lines', -settled_amount
    from mart.settlement_lines
    where payout_ref is not null
    union all
    select platform, payout_ref, 'carried', net_amount - paid_amount
    from mart.settlement_statements
    where payout_ref is not null
    union all
    select platform, payout_ref, unnest(['bank', 'fee']), unnest([-amount, -fee_amount])
    from raw.bank_payouts
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', platform, payout_ref, side) as location,
    cast(sum(amount) as decimal(38, 4)) as residual,
from sums
group by platform, payout_ref, side
having sum(amount) <> 0
