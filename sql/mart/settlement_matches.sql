-- One row per settlement of a statement, or group of settlements of equal amounts: which orders it settles.
--
-- Source: statements of the ledger and mart.orders. Orders are found by id; by short number within store and day; by store,
-- exact amount and time; or as all orders of a store and period. Nothing is guessed: equal amounts close in time
-- are one group, of which as many are settled as there are orders and settlements, if each of these has one of its own.
-- Caveats: their_amount is gross: costs and refunds are in net_amount. candidate_order_ids has at most 20.
--
-- key: match_id
--
-- entry_no: The ledger entry of the statement; of a group the first.
-- platform not null: The platform, as the mapping names it.
-- store_id: The store, as the statement, its file of stores or the store's name says; null if none does.
-- order_id null: The order, if it is one; null otherwise.
-- line_date: The first day of its rows.
-- match_rule ENUM('amount_and_time', 'none', 'order_id', 'period', 'short_number'): By which the orders were found.
-- match_state ENUM('differs', 'group', 'matched', 'no_order', 'not_a_sale', 'not_ours', 'one_of', 'settled_twice'): matched: this order. group: these orders, all of them. one_of: some of the candidates, unknown which. differs: a period whose count or amount is another. settled_twice: an earlier settlement has an order of it. not_ours: no such order, or one of another store, currency or platform. not_a_sale: the order is not counted. no_order: the statement names none.
-- order_count >= 0: Our orders.
-- settlement_count BIGINT >= 1: Its settlements on statements.
-- currency not null: The currency of the statement.
-- our_amount DECIMAL(38,4) null: The totals of our orders; null if one has none, or if there is no order.
-- their_amount DECIMAL(38,4): The gross of its settlements.
-- matched_amount DECIMAL(38,4) null: The gross that settles orders for certain: of n orders and m settlements of one amount the lesser of the two amounts. The journal credits it to the receivable. Null if its settlements settle no order for certain: unless it is no_order, the journal has them as unmatched.
-- difference: our_amount less their_amount; null where nothing is compared. Beside a matched_amount it is the rest: the open item of orders if that is their_amount, else the gross of settlements that are unmatched.
-- candidate_order_ids BIGINT[]: Our orders, at most 20.

-- each order of a match once, whatever the number of its settlements
with matched_orders as (
    select
        pairs.match_id, pairs.order_id, any_value(pairs.match_rule) as match_rule,
        any_value(pairs.match_state) as match_state, any_value(pairs.surplus) as surplus,
        any_value(orders.total_price) as total_price,
    from workings.settlement_pairs as pairs
    inner join mart.orders as orders using (order_id)
    group by pairs.match_id, pairs.order_id
),
ours as (
    select
        match_id, any_value(match_rule) as match_rule, any_value(match_state) as match_state,
        any_value(surplus) as surplus, count(*) as order_count,
        if(count(*) = count(total_price), sum(total_price), null) as our_amount,
        list_slice(list(order_id order by order_id), 1, 20) as order_ids,
    from matched_orders group by match_id
),
theirs as (
    select
        match_id,
        -- of the line that additions complete, or the first of a group
        arg_min(entry_no, (statement_kind = 'addition', entry_no, settlement_no)) as entry_no,
        arg_min(settlement_no, (statement_kind = 'addition', entry_no, settlement_no)) as settlement_no,
        any_value(platform) as platform,
        max(statement_kind) as statement_kind, -- an addition is before all others
        arg_min(statement_ref, (statement_kind = 'addition', entry_no, settlement_no)) as statement_ref,
        any_value(store_id) as store_id, any_value(order_ref) as order_ref, min(line_date) as line_date,
        any_value(currency) as currency, count(*) as settlement_count,
        cast(sum(stated_order_count) as bigint) as stated_order_count,
        sum(gross_amount) as their_amount, sum(net_amount) as net_amount,
    from workings.settlement_rows
    inner join (
        select distinct entry_no, settlement_no, match_id from mart.settlement_lines
    ) as lines using (entry_no, settlement_no)
    group by match_id
)

select
    theirs.match_id, theirs.entry_no, theirs.settlement_no, theirs.platform, theirs.statement_ref,
    theirs.store_id,
    if(ours.order_count = 1, ours.order_ids[1], null) as order_id,
    theirs.statement_kind, theirs.order_ref, theirs.line_date,
    coalesce(ours.match_rule, 'none') as match_rule,
    case
        when ours.match_state is not null then ours.match_state
        when theirs.statement_kind = 'total' then 'differs'
        when theirs.order_ref is not null or theirs.statement_kind in ('order', 'addition') then 'not_ours'
        else 'no_order'
    end as match_state,
    coalesce(ours.order_count, 0) as order_count, theirs.settlement_count, theirs.stated_order_count,
    theirs.currency, ours.our_amount, theirs.their_amount,
    case
        when ours.surplus = 'settlements' then ours.our_amount
        when ours.surplus = 'orders' or ours.match_state in ('matched', 'group') then theirs.their_amount
    end as matched_amount,
    if(
        theirs.statement_kind in ('order', 'total', 'addition')
        and ours.match_state in ('matched', 'group', 'one_of', 'differs'),
        ours.our_amount - theirs.their_amount, null
    ) as difference,
    theirs.net_amount, coalesce(ours.order_ids, []) as candidate_order_ids,
from theirs
left join ours using (match_id)
