-- One row per ledger entry of a statement or a bank's file, day, store, currency, platform and class of account: a debit.
--
-- Of certain matches the gross settles receivables, under the platform that the orders were sold on. Groups have as
-- many orders as settlements, of one amount. What settles no order for certain is unmatched, net.
-- Reads the release, attached as the default database, and the bank's credits in `memory`.
with lines as (
    select
        lines.entry_no,
        lines.settlement_no,
        lines.match_id,
        lines.line_date,
        coalesce(lines.store_id, orders.store_id) as store_id,
        lines.currency,
        lines.platform,
        case
            when matches.match_state not in ('matched', 'group', 'no_order') then 'unmatched'
            when lines.component not in ('items', 'delivery', 'tip', 'promotion', 'gross')
                then cast(lines.component as varchar)
            when lines.statement_kind in ('order', 'total') then 'receivable'
            else 'refund'
        end as account_class,
        -lines.amount as amount,
        lines.settled_currency,
        lines.settled_amount,
    from mart.settlement_lines as lines
    inner join mart.settlement_matches as matches using (match_id)
    left join mart.orders as orders
        on matches.order_id = orders.order_id and matches.match_state = 'matched'
),

settlements as (
    select
        *,
        row_number() over (partition by match_id order by entry_no, settlement_no) as place,
        count(*) over (partition by match_id) as settlement_count,
    from (
        select distinct entry_no, settlement_no, match_id, line_date, store_id, currency,
        from lines
        where account_class = 'receivable'
    )
),

claims as (
    select
        settled.match_id,
        orders.platform,
        settled.settled_amount,
        row_number() over (partition by settled.match_id order by settled.order_id) as place,
    from mart.order_settlements as settled
    inner join mart.orders as orders using (order_id)
    where settled.settled_amount is not null
),

debits as (
    select
        'settlement' as kind, entry_no, line_date as day, store_id, currency, platform,
        account_class, amount,
    from lines
    where account_class <> 'receivable'
    union all
    select
        'settlement', entry_no, line_date, store_id, currency, platform,
        if(settled_currency = currency, 'clearing', 'conversion'), -amount,
    from lines
    union all
    -- converted amounts balance in each currency by itself
    select
        'settlement', entry_no, line_date, store_id, settled_currency, platform,
        unnest(['clearing', 'conversion']), unnest([settled_amount, -settled_amount]),
    from lines
    where settled_currency <> currency
    union all
    select
        'settlement', settlements.entry_no, settlements.line_date, settlements.store_id,
        settlements.currency, claims.platform, 'receivable', -claims.settled_amount,
    from settlements
    inner join claims
        on settlements.match_id = claims.match_id
        and (settlements.settlement_count = 1 or settlements.place = claims.place)
    union all
    select
        'bank', banks.entry_no, banks.bank_date, null,
        coalesce(banks.currency, payouts.currency, 'XXX'), banks.platform,
        unnest(['bank', 'bank_fees', 'clearing']),
        unnest([banks.amount, banks.fee_amount, -banks.amount - banks.fee_amount]),
    from memory.raw.bank_payouts as banks
    left join (
        select platform, payout_ref, any_value(currency) as currency
        from mart.payouts
        group by platform, payout_ref
        having count(*) = 1
    ) as payouts using (platform, payout_ref)
)

select
    kind, entry_no, day, store_id, currency, platform, account_class,
    cast(sum(amount) as decimal(38, 4)) as amount,
from debits
group by all
order by all
