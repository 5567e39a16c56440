-- Which payouts are not at the bank, or differ there?
select
    payouts.platform,
    payouts.payout_ref,
    payouts.payout_state,
    payouts.is_due,
    payouts.currency,
    payouts.stated_amount,
    payouts.bank_amount,
    payouts.difference,
from mart.payouts as payouts
where payouts.payout_state <> 'paid'
order by payouts.platform, payouts.payout_ref, payouts.currency
