-- One row per payout and currency: stated and at the bank.
--
-- Source: mart.settlement_lines, mart.settlement_statements and the ledger (`ordermart settlements import --bank`).
-- Caveats: a bank credit belongs to a payout by its reference alone, never by its amount. Credits of one reference are added up.
--
-- key: platform, payout_ref, currency
--
-- platform not null: The platform, as the mapping names it.
-- payout_ref not null: The payout, as statements and bank name it.
-- payout_state ENUM('differs', 'not_at_bank', 'not_stated', 'paid'): paid: the same at the bank, with its fee. differs: the bank has another amount. not_at_bank: no credit names it. not_stated: no statement names it.
-- is_due: Whether the bank's files go on for due_days or more after its last line.
-- is_late: Whether the bank booked it more than due_days after its last line.
-- last_line_date null: The last day of its lines; null if no statement names it.
-- bank_date DATE null: The last day on which the bank booked a credit that names it.
-- line_count: Its lines; 0 if no statement names it.
-- currency not null: The currency that it is paid in; of a bank's file that states none, that of the statements.
-- carried_amount DECIMAL(38,4) null: What its statements state to pay beyond their lines: openings less closings, and rounding; all that it pays if their lines name no payout.
-- stated_amount DECIMAL(38,4) null: Its lines and carried_amount; null if no statement names it, as carried_amount.
-- bank_amount DECIMAL(38,4) null: The credits that name it; null if none does.
-- bank_fee_amount DECIMAL(38,4) null: The amount that the bank kept, as its file states; null if no credit names it.
-- difference: stated_amount less bank_amount and bank_fee_amount; null without one of them.
with stated as (
    select
        platform, payout_ref, currency, max(line_date) as last_line_date, count(component) as line_count,
        sum(carried_amount) as carried_amount,
        sum(settled_amount) + sum(carried_amount) as stated_amount,
    from (
        select
            platform, payout_ref, settled_currency as currency, component, line_date, settled_amount,
            0 as carried_amount,
        from mart.settlement_lines
        union all
        select platform, payout_ref, currency, null, null, 0, paid_amount - net_amount
        from mart.settlement_statements where paid_amount is not null
        union all -- of a statement whose lines name none
        select payouts.platform, payouts.payout_ref, payouts.currency, null, payouts.paid_on, 0, payouts.amount
        from raw.settlement_payouts as payouts
        semi join (from mart.settlement_statements where payout_count = 0) as statements using (platform, statement_ref)
    )
    where payout_ref is not null
    group by platform, payout_ref, currency
),
due_days as (select platform, min(due_days) as due_days from raw.settlement_statements group by platform),
currencies as (
    select platform, any_value(currency) as currency
    from stated group by platform having count(distinct currency) = 1
),
-- a file that states no currency has that of the payout, else of the platform, if it has one only
credits as (
    select
        banks.platform, banks.payout_ref,
        coalesce(banks.currency, stated.currency, currencies.currency, 'XXX') as currency,
        max(banks.bank_date) as bank_date, sum(banks.amount) as bank_amount,
        sum(banks.fee_amount) as bank_fee_amount,
    from raw.bank_payouts as banks
    left join (
        select platform, payout_ref, any_value(currency) as currency
        from stated group by platform, payout_ref having count(*) = 1
    ) as stated using (platform, payout_ref)
    left join currencies on banks.platform = currencies.platform
    group by all
),
last_days as (select platform, max(last_day) as last_bank_date from raw.bank_files group by platform)

select
    platform, payout_ref,
    case
        when credits.bank_amount is null then 'not_at_bank'
        when stated.stated_amount is null then 'not_stated'
        when stated.stated_amount = credits.bank_amount + credits.bank_fee_amount then 'paid'
        else 'differs'
    end as payout_state,
    coalesce(last_days.last_bank_date >= stated.last_line_date + cast(due_days.due_days as integer), false) as is_due,
    coalesce(credits.bank_date > stated.last_line_date + cast(due_days.due_days as integer), false) as is_late,
    stated.last_line_date, credits.bank_date, coalesce(stated.line_count, 0) as line_count, currency,
    stated.carried_amount, stated.stated_amount, credits.bank_amount, credits.bank_fee_amount,
    stated.stated_amount - credits.bank_amount - credits.bank_fee_amount as difference,
from stated
full outer join credits using (platform, payout_ref, currency)
left join due_days using (platform)
left join last_days using (platform)
