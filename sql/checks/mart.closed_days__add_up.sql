-- closed_amount + posted_amount + unposted_amount = current_amount, and all platforms make the day's current total.
-- severity: blocking
-- scope: all
with days as (
    select
        days.business_date, days.store_id, days.sale_class, days.currency,
        unnest(measures_of(days, days.order_count), recursive := true),
    from mart.daily_reconciliations as days
    $closes_of days
    where if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) is not null
),
-- what each row, and what each day, is more than it must be
differences as (
    select
        'row' as what, business_date, store_id, platform, sale_class, measure, currency,
        current_amount - closed_amount - posted_amount - unposted_amount as amount,
    from mart.closed_days
    union all
    -- not recorded yet: in the current amounts and in no restatement
    select
        'row' as what, business_date, store_id, platform, sale_class, measure, currency,
        -restatement_amount as amount,
    from audit.pending_restatements
    union all
    select
        'day' as what, business_date, store_id, null as platform, sale_class, measure, currency,
        current_amount as amount,
    from mart.closed_days
    union all
    select
        'day' as what, business_date, store_id, null as platform, sale_class, measure, currency,
        -amount as amount,
    from days
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', business_date, 'store ' || store_id, platform, sale_class, measure, currency) as location,
    cast(sum(amount) as decimal(38, 4)) as residual,
from differences
group by what, business_date, store_id, platform, sale_class, measure, currency
having sum(amount) <> 0
