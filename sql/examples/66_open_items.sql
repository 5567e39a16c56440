-- Which orders has a platform not settled although they are due, and how much is that?
select
    platform,
    settlement_state,
    is_due,
    currency,
    count(*) as order_count,
    sum(ordered_amount) as ordered_amount,
    sum(open_amount) as open_amount,
from mart.order_settlements
where settlement_state <> 'settled'
group by platform, settlement_state, is_due, currency
order by platform, settlement_state, is_due, currency
