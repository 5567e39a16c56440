-- One row per store, closed business day, platform, sale class, measure and currency.
--
-- closed_amount + posted_amount + unposted_amount = current_amount; over all platforms that is the day's current total,
-- exactly, or nothing is published.
-- Source: workings.closed_day_totals (from the ledger), mart.restatements and audit.pending_restatements.
-- Caveats: a reopened day has no rows, nor has a closed day without orders. Never add measures to one another, nor
-- amounts of two currencies. If a store's currency changed, its closed days have rows in both.
--
-- key: business_date, store_id, platform, sale_class, measure, currency
--
-- business_date not null: The closed business day.
-- platform: Where its orders are booked: restated if their documents name another since; null where they name none, and of closes that did not record it.
-- sale_class: The sale class of the amount: counted, excluded, unmapped or deleted.
-- closed_at: When it was closed.
-- period: The period whose books have the day: of [closing] periods_file when it was closed, else its calendar month.
-- closed_amount: Total at close.
-- posted_amount: Sum of the restatements posted to a period.
-- unposted_amount DECIMAL(38,4): Sum of the unposted restatements.
-- current_amount: Current total.

-- a null amount adds nothing to a sum
with long as (
    select
        business_date, store_id, platform, sale_class, currency, 'closed' as side,
        unnest(measures_of(closed, order_count), recursive := true),
    from workings.closed_day_totals as closed
    union all
    select
        closed_business_date as business_date, store_id, platform, sale_class, currency,
        if(posted_period is null, 'unposted', 'posted') as side,
        measure, restatement_amount as amount,
    from mart.restatements where is_close_active
    union all
    -- not recorded yet: none in a release
    select
        business_date, store_id, platform, sale_class, currency, 'pending' as side, measure,
        restatement_amount as amount,
    from audit.pending_restatements
),
added as (
    select
        business_date, store_id, platform, sale_class, measure, currency,
        cast(coalesce(sum(amount) filter (where side = 'closed'), 0) as decimal(38, 4)) as closed_amount,
        cast(coalesce(sum(amount) filter (where side = 'posted'), 0) as decimal(38, 4)) as posted_amount,
        cast(coalesce(sum(amount) filter (where side = 'unposted'), 0) as decimal(38, 4)) as unposted_amount,
        cast(coalesce(sum(amount), 0) as decimal(38, 4)) as current_amount,
    from long group by business_date, store_id, platform, sale_class, measure, currency
)

select
    added.business_date, added.store_id, added.platform, added.sale_class, added.measure, added.currency,
    if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) as close_entry_no,
    if(own.business_date is null, every_store.closed_at, own.closed_at) as closed_at,
    if(own.business_date is null, every_store.period, own.period) as period,
    added.closed_amount, added.posted_amount, added.unposted_amount, added.current_amount,
from added
$closes_of added
