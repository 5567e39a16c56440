-- One row per ledger entry (a statement, a bank's file, breaks that were accepted), day, store, currency, platform and
-- class of account: a debit.
--
-- Of certain matches the gross settles receivables, under the platform that the orders were sold on. Of a group, orders
-- and settlements of one amount, the gross of settlements beyond its orders is unmatched, and so, net, are lines that
-- settle no order for certain. The amount of a break that was accepted with a class goes there, from the class that has
-- it; nothing else is written off.
-- Reads the release, attached as the default database; the bank's credits and the decisions in `memory`.
with lines as (
    select
        lines.entry_no, lines.settlement_no, lines.match_id, lines.line_date,
        coalesce(lines.store_id, orders.store_id) as store_id,
        lines.currency, lines.platform,
        case
            when lines.component not in ('items', 'delivery', 'tip', 'promotion', 'gross')
                then cast(lines.component as varchar)
            when lines.statement_kind in ('order', 'total', 'addition') then 'receivable'
            else 'refund'
        end as class_if_settled,
        if(
            matches.matched_amount is null and matches.match_state <> 'no_order', 'unmatched', class_if_settled
        ) as account_class,
        -lines.amount as amount,
        lines.settled_currency, lines.settled_amount,
    from mart.settlement_lines as lines
    inner join mart.settlement_matches as matches using (match_id)
    left join mart.orders as orders on if(matches.match_state = 'matched', matches.order_id, null) = orders.order_id
),
settlements as (
    select
        *,
        if( -- a line may be completed by others
            match_id like 'group:%',
            dense_rank() over (partition by match_id order by entry_no, settlement_no), 1
        ) as place,
    from (
        select
            entry_no, settlement_no, match_id, line_date, store_id, currency, platform, sum(amount) as amount,
        from lines where account_class = 'receivable' group by all
    )
),
-- of more orders than settlements, which are of one platform, as many as there are settlements
claims as (
    select
        settled.match_id, orders.platform,
        coalesce(settled.settled_amount, settled.ordered_amount) as settled_amount,
        if(
            settled.match_id like 'period:%', 1,
            row_number() over (partition by settled.match_id order by settled.order_id)
        ) as place,
    from mart.order_settlements as settled
    inner join mart.orders as orders using (order_id)
    inner join mart.settlement_matches as matches using (match_id)
    where matches.matched_amount is not null
),
-- `late` has no open amount
accepted as (
    select
        decisions.entry_no, decisions.account_class as written_to, breaks.break_key, breaks.break_kind,
        breaks.platform, breaks.order_id, breaks.since_date, breaks.currency, breaks.amount,
    from audit.settlement_breaks as breaks
    inner join memory.raw.break_decisions as decisions using (break_key, content)
    where decisions.account_class is not null and breaks.break_kind <> 'late'
),
-- a group or period whose orders are known: accepted, it settles all of them, but for the difference; with a
-- matched_amount, which is settled without it, the rest alone moves
accepted_matches as (
    select
        accepted.*, matches.match_id, matches.store_id, matches.net_amount, matches.difference,
        matches.candidate_order_ids, matches.matched_amount,
        matches.matched_amount = matches.their_amount as is_open,
        accepted.break_kind in ('one_of', 'period_differs')
        and matches.match_rule <> 'short_number'
        and matches.matched_amount is null
        and matches.difference is not null as is_settled,
    from accepted inner join mart.settlement_matches as matches on accepted.break_key = matches.match_id
),
written_off as (
    select accepted.*, orders.store_id, orders.platform as held_by, 'receivable' as held_in,
    from accepted
    inner join mart.orders as orders using (order_id)
    where accepted.break_key like 'settlement:%'
    union all by name
    select
        whole.* exclude (amount),
        if(whole.is_open, orders.platform, whole.platform) as held_by,
        if(whole.is_open, 'receivable', 'unmatched') as held_in,
        if(whole.matched_amount is null, -whole.net_amount, whole.difference) as amount,
    from accepted_matches as whole
    left join mart.orders as orders on whole.candidate_order_ids[1] = orders.order_id
    where not whole.is_settled
    union all by name
    select accepted.*, charged.store_id, accepted.platform as held_by, 'commission' as held_in,
    from accepted
    inner join (
        select distinct 'commission:' || entry_no || '/' || settlement_no as break_key, store_id
        from lines where account_class = 'receivable'
    ) as charged using (break_key)
    union all by name
    select
        * exclude (amount), null as store_id, platform as held_by, 'clearing' as held_in,
        if(break_kind in ('not_at_bank', 'payout_differs'), amount, -amount) as amount,
    from accepted where break_key like 'payout:%' or break_key like 'statement:%'
),
debits as (
    select
        'settlement' as kind, entry_no, line_date as day, store_id, currency, platform, account_class, amount,
    from lines where account_class <> 'receivable'
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
    from lines where settled_currency <> currency
    union all
    select
        'settlement', settlements.entry_no, settlements.line_date, settlements.store_id,
        settlements.currency, coalesce(claims.platform, settlements.platform),
        if(claims.match_id is null, 'unmatched', 'receivable'),
        -- events of one settlement have days of their own; a period's line is of several orders
        if(claims.match_id like 'period:%', -claims.settled_amount, settlements.amount),
    from settlements
    left join claims on settlements.match_id = claims.match_id and settlements.place = claims.place
    union all
    select
        'bank', banks.entry_no, banks.bank_date, null,
        coalesce(banks.currency, payouts.currency, 'XXX'), banks.platform,
        unnest(['bank', 'bank_fees', 'clearing']),
        unnest([banks.amount, banks.fee_amount, -banks.amount - banks.fee_amount]),
    from memory.raw.bank_payouts as banks
    left join (
        select platform, payout_ref, any_value(currency) as currency
        from mart.payouts group by platform, payout_ref having count(*) = 1
    ) as payouts using (platform, payout_ref)
    union all
    select
        'writeoff', entry_no, since_date, store_id, currency, held_by,
        unnest([written_to, held_in]), unnest([amount, -amount]),
    from written_off
    union all
    select
        'writeoff', entry_no, since_date, store_id, currency, platform,
        unnest([written_to, 'unmatched']), unnest([difference, net_amount]),
    from accepted_matches where is_settled
    union all
    select
        'writeoff', whole.entry_no, whole.since_date, whole.store_id, whole.currency,
        lines.platform, lines.class_if_settled, lines.amount,
    from accepted_matches as whole
    inner join lines using (match_id)
    where whole.is_settled and lines.class_if_settled <> 'receivable'
    union all
    select
        'writeoff', whole.entry_no, whole.since_date, whole.store_id, whole.currency,
        orders.platform, 'receivable', -settled.ordered_amount,
    from accepted_matches as whole
    inner join mart.order_settlements as settled using (match_id)
    inner join mart.orders as orders on settled.order_id = orders.order_id
    where whole.is_settled
)

select
    kind, entry_no, day, store_id, currency, platform, account_class,
    cast(sum(amount) as decimal(38, 4)) as amount,
from debits
group by all
order by all
