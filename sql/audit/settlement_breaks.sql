-- One row per break of settlements: an order, a line, a period or a payout that does not settle to the cent, or late.
--
-- Source: mart.order_settlements, settlement_matches, settlement_rates, settlement_statements and payouts, and what people
-- decided of them in the ledger.
-- Caveats: amounts of kinds are never added up: an order and its line may both have a break.
--
-- key: break_key
--
-- break_key VARCHAR: As it is accepted by: settlement, line, group, period, commission, statement or payout, and which.
-- break_kind ENUM('amount_differs', 'late', 'never_settled', 'not_a_sale', 'not_at_bank', 'not_ours', 'not_stated', 'one_of', 'payout_differs', 'period_differs', 'settled_twice', 'statement_gap', 'statement_rounding', 'wrong_commission'): never_settled and not_at_bank only once due; late: settled or paid since, but later than due; not_stated: a credit that no statement names; wrong_commission: another than the rate in force; statement_gap, statement_rounding: as in mart.settlement_statements; the others as match_state and settlement_state.
-- platform not null: The platform, as the mapping names it.
-- order_id null: The order; null if it is not one.
-- since_date DATE null: The business date of the order, the day of the line, or the last day of the payout.
-- amount DECIMAL(38,4) null: The amount that is open, differs, was late or has no order; of a commission the excess. Null where an order has no total.
-- content: A hash of kind, currency and amount: it is accepted while they are the same.
with orders as (
    select
        'settlement:' || platform || '/' || order_id as break_key,
        case settlement_state
            when 'open' then 'never_settled'
            when 'differs' then 'amount_differs'
            else 'late'
        end as break_kind,
        platform, order_id, business_date as since_date, currency,
        if(settlement_state = 'settled', settled_amount, open_amount) as amount,
    from mart.order_settlements
    where
        settlement_state = 'differs'
        or (settlement_state = 'open' and is_due)
        or (settlement_state = 'settled' and is_late)
),
lines as (
    select
        matches.match_id as break_key,
        if(matches.match_state = 'differs', 'period_differs', matches.match_state) as break_kind,
        matches.platform, matches.order_id, matches.line_date as since_date, matches.currency,
        case
            when matches.match_state in ('differs', 'one_of') then matches.difference
            when matches.statement_kind in ('order', 'total', 'addition') then matches.their_amount
            else coalesce(nullif(rows_of.refund_amount, 0), matches.net_amount)
        end as amount,
    from mart.settlement_matches as matches
    inner join workings.settlement_rows as rows_of using (entry_no, settlement_no)
    where matches.match_state not in ('matched', 'group', 'no_order')
),
commissions as (
    select
        'commission:' || charged.entry_no || '/' || charged.settlement_no as break_key,
        'wrong_commission' as break_kind, charged.platform, rows_of.order_id, rows_of.line_date as since_date,
        charged.currency,
        charged.charged_amount - charged.expected_amount as amount,
    from workings.settlement_commissions as charged
    inner join workings.settlement_rows as rows_of using (entry_no, settlement_no)
    inner join mart.settlement_rates as rates
        on charged.platform = rates.platform
        and charged.store_id is not distinct from rates.store_id
        and charged.currency = rates.currency
        and charged.from_date = rates.from_date
    where rates.is_in_force and not charged.is_agreeing
),
statements as (
    select
        unnest(['statement_gap', 'statement_rounding']) as break_kind,
        concat_ws('/', 'statement:' || entry_no, statement_ref, currency, break_kind) as break_key,
        platform, first_line_date as since_date, currency,
        unnest([gap_amount, rounding_amount]) as amount,
    from mart.settlement_statements
),
payouts as (
    select
        concat_ws('/', 'payout:' || platform, payout_ref, currency) as break_key,
        case payout_state
            when 'differs' then 'payout_differs'
            when 'paid' then 'late'
            else payout_state
        end as break_kind,
        platform,
        coalesce(last_line_date, bank_date) as since_date,
        currency,
        coalesce(nullif(difference, 0), stated_amount, bank_amount + bank_fee_amount) as amount,
    from mart.payouts
    where
        payout_state in ('differs', 'not_stated')
        or (payout_state = 'not_at_bank' and is_due)
        or (payout_state = 'paid' and is_late)
),
breaks as (
    select
        *,
        sha256(concat_ws('|', break_kind, currency, cast(amount as varchar))) as content,
    from (
        from orders
        union all by name
        from lines
        union all by name
        from commissions
        union all by name
        from statements where amount <> 0
        union all by name
        from payouts
    )
)

select
    breaks.break_key, breaks.break_kind, breaks.platform, breaks.order_id, breaks.since_date, breaks.currency,
    breaks.amount,
    case
        when decisions.content = breaks.content then 'accepted'
        when decisions.content is not null then 'changed'
        else 'open'
    end as state,
    decisions.account_class, decisions.assignee, breaks.content,
from breaks
left join raw.break_decisions as decisions using (break_key)
