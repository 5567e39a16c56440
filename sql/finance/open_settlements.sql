-- Orders and lines of statements by state, for `ordermart settlements list`.
select
    platform, currency,
    'order: ' || settlement_state || if(settlement_state = 'open' and is_due, ', due', '') as state,
    count(*) as order_count, sum(ordered_amount) as ordered, sum(open_amount) as amount,
from mart.order_settlements
group by all
union all
select
    platform, currency,
    'line: ' || match_state,
    sum(settlement_count),
    sum(their_amount),
    sum(difference),
from mart.settlement_matches
where match_state <> 'matched'
group by all
order by all
