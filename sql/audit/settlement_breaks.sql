-- One row per break of settlements: an order, a line, a period or a payout that does not settle to the cent.
--
-- Source: mart.order_settlements, mart.settlement_matches, mart.payouts, and what people decided of them in the ledger.
-- Caveats: amounts of kinds are never added up: an order and its line may both have a break.
--
-- key: break_key
--
-- break_key VARCHAR: As it is accepted by: settlement, line, group, period or payout, and which.
-- break_kind ENUM('amount_differs', 'never_settled', 'not_a_sale', 'not_at_bank', 'not_ours', 'not_stated', 'one_of', 'payout_differs', 'period_differs', 'settled_twice'): never_settled and not_at_bank only once due; not_stated: a credit that no statement names; the others as match_state and settlement_state.
-- platform not null: The platform, as the mapping names it.
-- order_id null: The order; null if it is not one.
-- since_date DATE null: The business date of the order, the day of the line, or the last day of the payout.
-- amount DECIMAL(38,4) null: The amount that is open, differs or has no order; null where an order has no total.
-- content: A hash of kind, currency and amount: it is accepted while they are the same.
with orders as (
    select
        'settlement:' || platform || '/' || order_id as break_key,
        if(settlement_state = 'open', 'never_settled', 'amount_differs') as break_kind,
        platform, order_id,
        business_date as since_date,
        currency,
        open_amount as amount,
    from mart.order_settlements
    where settlement_state = 'differs' or (settlement_state = 'open' and is_due)
),

lines as (
    select
        match_id as break_key,
        if(match_state = 'differs', 'period_differs', match_state) as break_kind,
        platform, order_id,
        line_date as since_date,
        currency,
        if(match_state in ('differs', 'one_of'), difference, their_amount) as amount,
    from mart.settlement_matches
    where match_state not in ('matched', 'group', 'no_order')
),

payouts as (
    select
        concat_ws('/', 'payout:' || platform, payout_ref, currency) as break_key,
        if(payout_state = 'differs', 'payout_differs', payout_state) as break_kind,
        platform,
        cast(null as bigint) as order_id,
        coalesce(last_line_date, bank_date) as since_date,
        currency,
        coalesce(difference, stated_amount, bank_amount) as amount,
    from mart.payouts
    where payout_state in ('differs', 'not_stated') or (payout_state = 'not_at_bank' and is_due)
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
        from payouts
    )
)

select
    -- keys
    breaks.break_key,
    breaks.break_kind,
    breaks.platform,
    breaks.order_id,
    -- money
    breaks.since_date,
    breaks.currency,
    breaks.amount,
    -- its life
    case
        when decisions.content = breaks.content then 'accepted'
        when decisions.content is not null then 'changed'
        else 'open'
    end as state,
    decisions.account_class,
    decisions.assignee,
    breaks.content,
from breaks
left join raw.break_decisions as decisions using (break_key)
