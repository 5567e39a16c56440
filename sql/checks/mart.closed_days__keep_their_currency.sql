-- The orders of a closed day still have the currency of the close.
-- severity: warning
-- scope: all
select
    cast(null as bigint) as entity_id,
    concat_ws(
        ', ', sealed.business_date, 'store ' || sealed.store_id, sealed.sale_class
    ) as location,
    -- equal amounts in two currencies show no variance, yet are not the same money
    sealed.currency || ' was sealed, now '
    || coalesce(days.currency, 'no currency is stated') as detail,
from audit.closed_day_totals as sealed
inner join mart.daily_reconciliations as days
    on sealed.business_date = days.business_date
    and sealed.store_id is not distinct from days.store_id
    and sealed.sale_class = days.sale_class
where sealed.currency is distinct from days.currency and sealed.currency is not null
