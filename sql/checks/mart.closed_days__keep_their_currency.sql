-- The orders of a sealed day are still in the currency that they were sealed in.
-- severity: warning
-- scope: all
select
    cast(null as bigint) as entity_id,
    concat_ws(
        ', ', sealed.business_date, 'store ' || sealed.store_id, sealed.sale_class
    ) as location,
    -- amounts that are equal in two currencies are no difference, and not the same
    sealed.currency || ' was sealed, now '
    || coalesce(days.currency, 'no currency is stated') as detail,
from audit.closed_day_totals as sealed
inner join mart.daily_reconciliations as days
    on sealed.business_date = days.business_date
    and sealed.store_id is not distinct from days.store_id
    and sealed.sale_class = days.sale_class
where sealed.currency is distinct from days.currency and sealed.currency is not null
