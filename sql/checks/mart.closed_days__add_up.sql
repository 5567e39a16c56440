-- Closed, posted and unposted amounts add up to the current amount, to the cent.
-- severity: blocking
-- scope: all
with

unrecorded as (
    select
        business_date,
        store_id,
        sale_class,
        part,
        sum(difference) as difference,
    from audit.pending_restatements
    group by business_date, store_id, sale_class, part
),

booked as (
    select
        coalesce(days.business_date, unrecorded.business_date) as business_date,
        coalesce(days.store_id, unrecorded.store_id) as store_id,
        coalesce(days.sale_class, unrecorded.sale_class) as sale_class,
        coalesce(days.part, unrecorded.part) as part,
        -- coalesce: a missing row adds nothing
        coalesce(days.now, 0)
        - coalesce(days.sealed + days.posted + days.open, 0)
        - coalesce(unrecorded.difference, 0) as residual,
    from mart.closed_days as days
    full outer join unrecorded
        on days.business_date = unrecorded.business_date
        and days.store_id is not distinct from unrecorded.store_id
        and days.sale_class = unrecorded.sale_class
        and days.part = unrecorded.part
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', business_date, 'store ' || store_id, sale_class, part) as location,
    cast(residual as decimal(38, 4)) as residual,
from booked
where residual <> 0
