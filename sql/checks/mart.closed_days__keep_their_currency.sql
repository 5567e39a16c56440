-- A closed day's orders are still in the currency of the close.
-- severity: warning
-- scope: all
select
    cast(null as bigint) as entity_id,
    concat_ws(
        ', ', closed.business_date, 'store ' || closed.store_id, closed.sale_class
    ) as location,
    -- equal amounts in two currencies show no restatement, but are not the same
    closed.currency || ' at close, now '
    || coalesce(days.currency, 'no currency') as detail,
from audit.closed_day_totals as closed
inner join mart.daily_reconciliations as days
    on closed.business_date = days.business_date
    and closed.store_id is not distinct from days.store_id
    and closed.sale_class = days.sale_class
where closed.currency is distinct from days.currency and closed.currency is not null
