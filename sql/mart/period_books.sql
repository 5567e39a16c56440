-- One row per period, store, sale class, currency and measure in the books.
--
-- Source: mart.closed_days and mart.restatements.
-- Caveats: all periods together have what closed days hold, by currency, less what is not posted. While a day is
-- reopened, its period has nothing of it. Never add measures to one another, nor amounts of two currencies.
--
-- key: period, store_id, sale_class, currency, measure
--
-- sale_class: The sale class of the amount: counted, excluded, unmapped or deleted.
-- closed_amount: What its days were closed with, under the active closes.
-- posted_amount: Sum of the restatements posted to it.
-- reversed_amount DECIMAL(38,4): What was reversed in it: restatements of days that were reopened, negated.
-- total_amount DECIMAL(38,4): closed_amount + posted_amount + reversed_amount.
with booked as (
    select
        period, store_id, sale_class, currency, measure, 'closed' as side, closed_amount as amount,
    from mart.closed_days
    union all
    select
        posted_period as period, store_id, sale_class, currency, measure, 'posted' as side,
        restatement_amount as amount,
    from mart.restatements where posted_period is not null
    union all
    select
        reversed_period as period, store_id, sale_class, currency, measure, 'reversed' as side,
        -restatement_amount as amount,
    from mart.restatements where reversed_period is not null
)

select
    period, store_id, sale_class, currency, measure,
    -- money: where a side has no row, it adds nothing
    cast(coalesce(sum(amount) filter (where side = 'closed'), 0) as decimal(38, 4)) as closed_amount,
    cast(coalesce(sum(amount) filter (where side = 'posted'), 0) as decimal(38, 4)) as posted_amount,
    cast(coalesce(sum(amount) filter (where side = 'reversed'), 0) as decimal(38, 4)) as reversed_amount,
    cast(sum(amount) as decimal(38, 4)) as total_amount,
from booked
where amount <> 0
group by period, store_id, sale_class, currency, measure
