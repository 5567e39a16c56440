-- closed_amount + posted_amount + unposted_amount = current_amount, exactly, by currency.
-- severity: blocking
-- scope: all
with pending as (
    select
        business_date, store_id, sale_class, measure, currency,
        sum(restatement_amount) as amount,
    from audit.pending_restatements
    group by business_date, store_id, sale_class, measure, currency
),

compared as (
    select
        coalesce(days.business_date, pending.business_date) as business_date,
        coalesce(days.store_id, pending.store_id) as store_id,
        coalesce(days.sale_class, pending.sale_class) as sale_class,
        coalesce(days.measure, pending.measure) as measure,
        coalesce(days.currency, pending.currency) as currency,
        -- a missing row adds nothing
        coalesce(days.current_amount, 0)
        - coalesce(
            days.closed_amount + days.posted_amount + days.unposted_amount, 0
        )
        - coalesce(pending.amount, 0) as residual,
    from mart.closed_days as days
    full outer join pending
        on days.business_date = pending.business_date
        and days.store_id is not distinct from pending.store_id
        and days.sale_class = pending.sale_class
        and days.measure = pending.measure
        and days.currency is not distinct from pending.currency
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', business_date, 'store ' || store_id, sale_class, measure, currency)
        as location,
    cast(residual as decimal(38, 4)) as residual,
from compared
where residual <> 0
