-- One row per counted order that a platform with statements settles: what it ordered, settled, costs and leaves open.
--
-- Source: mart.orders of the platforms that the mappings name, mart.settlement_matches and its steps.
-- Caveats: settled_amount and open_amount are null where it is unknown which of several orders a statement settles, or
-- where the order has no total. Of n orders and fewer settlements of one amount no row says which orders are settled: the
-- amounts are in mart.settlement_matches. Costs of a period or group are on no order: they are in mart.settlement_matches.
--
-- key: platform, order_id
--
-- platform not null: The platform that settles it, as the mapping names it.
-- settlement_state ENUM('differs', 'open', 'settled', 'unknown'): settled: to the cent. differs: its settlement has another amount. open: no statement has it. unknown: one of several, of a period that differs, or without a total.
-- is_due: Whether a statement of the platform has a line that is due_days or more after its business date.
-- is_late: Whether the line that claims it, not one of a period, is more than due_days after its business date.
-- match_id null: The match that claims it; null if none does.
-- settled_on DATE null: The day of the line that claims it; of a period its last day. Null if none does.
-- payout_ref: The payout of that line, as the statement names it.
-- paid_on DATE null: The day on which the bank booked that payout; null if it did not.
-- ordered_amount DECIMAL(38,4) null: The order's total_price.
-- settled_amount null: The gross amount of the settlement that claims it; 0 if none does.
-- open_amount DECIMAL(38,4) null: ordered_amount less settled_amount: the receivable.
-- settled_again_amount DECIMAL(38,4): The gross of further settlements: settled twice.
-- refund_amount: Refunds and adjustments of the order.
-- cost_amount: Commission, taxes and other costs in its currency that name the order; below zero if they cost.
-- net_amount null: What settlements that name the order add up to; of a group or period the order's gross. Null if that is unknown.
with scopes as (
    select distinct platform, unnest(order_platforms) as order_platform from raw.settlement_statements
),
last_lines as (
    select
        rows_of.platform, max(rows_of.last_line_date) as last_line_date, min(statements.due_days) as due_days,
    from workings.settlement_rows as rows_of
    inner join raw.settlement_statements as statements using (entry_no)
    group by rows_of.platform
),
pairs as (
    select
        pairs.order_id, pairs.match_id,
        if(pairs.surplus = 'settlements', 'group', pairs.match_state) as match_state,
        rows_of.platform, rows_of.payout_ref, rows_of.line_date, rows_of.currency, rows_of.settled_currency,
        rows_of.gross_amount, rows_of.refund_amount, rows_of.cost_amount, rows_of.net_amount,
        coalesce(rows_of.currency <> orders.currency, false) and rows_of.statement_kind = 'fee' as is_foreign,
        -- one order, which its settlement names
        pairs.match_state in ('matched', 'settled_twice') and pairs.match_rule <> 'period' as is_named,
        rows_of.statement_kind in ('order', 'total', 'addition')
        and pairs.match_state in ('matched', 'group', 'one_of', 'differs') as is_claim,
    from workings.settlement_pairs as pairs
    inner join workings.settlement_rows as rows_of using (entry_no, settlement_no)
    inner join mart.orders as orders on pairs.order_id = orders.order_id
),
settled as (
    select
        platform, order_id,
        min(match_state) filter (where is_claim) as match_state,
        -- what settles it is before what may
        arg_min(match_id, (match_state = 'one_of', match_id)) filter (where is_claim) as match_id,
        arg_min(line_date, (match_state = 'one_of', line_date)) filter (where is_claim) as settled_on,
        arg_min(payout_ref, (match_state = 'one_of', payout_ref)) filter (where is_claim) as payout_ref,
        any_value(currency) filter (where is_claim) as currency,
        any_value(settled_currency) filter (where is_claim) as paid_currency,
        sum(gross_amount) filter (where is_named and is_claim) as settled_amount,
        sum(gross_amount) filter (where is_named and not is_claim) as settled_again_amount,
        sum(refund_amount) filter (where is_named) as refund_amount,
        sum(cost_amount) filter (where is_named and not is_foreign) as cost_amount,
        sum(net_amount) filter (where is_named and not is_foreign) as net_amount,
    from pairs group by platform, order_id
),
-- an order that no settlement names was not settled: 0
compared as (
    select
        scopes.platform, orders.order_id, orders.store_id, orders.business_date,
        coalesce(orders.currency, settled.currency) as currency,
        cast(orders.total_price as decimal(38, 4)) as ordered_amount,
        settled.match_id, settled.settled_on, settled.payout_ref, payouts.bank_date as paid_on,
        case
            when settled.match_state in ('one_of', 'differs') then null
            when settled.match_state = 'group' then orders.total_price
            else coalesce(settled.settled_amount, 0)
        end as settled_amount,
        coalesce(settled.settled_again_amount, 0) as settled_again_amount,
        coalesce(settled.refund_amount, 0) as refund_amount, coalesce(settled.cost_amount, 0) as cost_amount,
        -- of a group the gross alone is an order's
        coalesce(settled.net_amount, 0) + if(settled.match_state = 'group', orders.total_price, 0) as net_amount,
        coalesce(
            last_lines.last_line_date >= orders.business_date + cast(last_lines.due_days as integer), false
        ) as is_due,
        coalesce(
            settled.settled_on > orders.business_date + cast(last_lines.due_days as integer)
            and settled.match_id not like 'period:%', false
        ) as is_late,
    from mart.orders as orders
    inner join scopes on orders.platform = scopes.order_platform
    left join last_lines on scopes.platform = last_lines.platform
    left join settled on scopes.platform = settled.platform and orders.order_id = settled.order_id
    left join mart.payouts as payouts
        on scopes.platform = payouts.platform
        and settled.payout_ref = payouts.payout_ref
        and settled.paid_currency = payouts.currency
    where orders.sale_class = 'counted'
)

select
    platform, order_id, store_id, business_date,
    case
        when settled_amount is null or ordered_amount is null then 'unknown'
        when settled_amount = ordered_amount then 'settled'
        when match_id is null then 'open'
        else 'differs'
    end as settlement_state,
    is_due, is_late, match_id, settled_on, payout_ref, paid_on, currency, ordered_amount, settled_amount,
    ordered_amount - settled_amount as open_amount,
    settled_again_amount, refund_amount, cost_amount, net_amount,
from compared
