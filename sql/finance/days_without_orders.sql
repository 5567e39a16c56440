-- One row per store and day of a period without an order, where the store usually has some.
--
-- Usually: on three quarters of the same weekdays of the eight weeks before, of which at least four must be known. Days
-- before the store opened and after it closed for good, by ref.stores, are neither empty nor known.
with placed as (
    select distinct store_id, business_date
    from mart.daily_store_sales where store_id is not null and business_date is not null
),
stores as (
    select
        placed.store_id,
        greatest(min(placed.business_date), any_value(ref.opened_on)) as first_date,
        any_value(ref.closed_on) as closed_on,
    from placed left join ref.stores as ref using (store_id) group by placed.store_id
),
days as (
    select cast(unnest(generate_series($first_day, $last_day, interval 1 day)) as date)
        as business_date
),
empty_days as (
    select stores.store_id, days.business_date, stores.first_date
    from stores
    cross join days
    anti join placed using (store_id, business_date)
    where
        (cast($store_id as bigint) is null or stores.store_id = $store_id)
        and (stores.closed_on is null or days.business_date <= stores.closed_on)
),
weeks_before as (
    select
        empty_days.store_id, empty_days.business_date,
        empty_days.business_date - 7 * cast(weeks.week_no as integer) as same_weekday,
    from empty_days
    cross join (select unnest(generate_series(1, 8)) as week_no) as weeks
    where same_weekday >= empty_days.first_date
)

select weeks.business_date, weeks.store_id
from weeks_before as weeks
left join placed on weeks.store_id = placed.store_id and weeks.same_weekday = placed.business_date
group by weeks.business_date, weeks.store_id
having count(*) >= 4 and 4 * count(placed.store_id) >= 3 * count(*)
order by weeks.business_date, weeks.store_id
