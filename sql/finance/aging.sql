-- Open items of orders by platform, currency, kind and age on a given day: together the receivable of a platform, as journals
-- have it. Of n orders and fewer settlements of one amount, as many are settled, whichever they are. What was accepted
-- with a class of account is written off.
with items as (
    select
        orders.platform, settled.currency,
        case
            when settled.settlement_state = 'unknown' then 'one of several'
            when settled.settlement_state = 'differs' then 'amount differs'
            when settled.is_due then 'never settled'
            else 'not due yet'
        end as kind,
        date_diff('day', settled.business_date, cast(? as date)) as age,
        case
            when settled.open_amount is not null then settled.open_amount
            when matches.matched_amount is not null
                and row_number() over (partition by settled.match_id order by settled.order_id)
                <= matches.settlement_count
                then 0
            else settled.ordered_amount
        end as amount,
    from mart.order_settlements as settled
    inner join mart.orders as orders using (order_id)
    left join mart.settlement_matches as matches using (match_id)
    anti join (
        select break_key from audit.settlement_breaks
        where state = 'accepted' and account_class is not null and break_kind <> 'late'
    ) as written_off
        on written_off.break_key = 'settlement:' || settled.platform || '/' || settled.order_id
        or (written_off.break_key = settled.match_id and matches.match_rule <> 'short_number')
)

select
    platform, currency, kind,
    cast(sum(amount) filter (where age <= 30) as decimal(38, 4)) as to_30_days,
    cast(sum(amount) filter (where age between 31 and 60) as decimal(38, 4)) as to_60_days,
    cast(sum(amount) filter (where age between 61 and 90) as decimal(38, 4)) as to_90_days,
    cast(sum(amount) filter (where age > 90) as decimal(38, 4)) as older,
    cast(sum(amount) as decimal(38, 4)) as total,
from items
where amount <> 0
group by platform, currency, kind
order by platform, currency, kind
