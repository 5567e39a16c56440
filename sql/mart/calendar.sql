-- One row per store and day from its first to its last business day with orders, days without orders included.
--
-- Source: mart.daily_store_sales, audit.coverage, the ledger's closes, and audit.loads for how far was observed.
-- Caveats: an order_count of 0 is a day without known orders; whether there were none, is_day_over, stale_count and
-- completeness say. Days after a store's last order have no row, since no document says whether it closed for good:
-- for one that has none now see audit.inactive_periods. Nor have days more than twenty years before the last
-- observation.
--
-- key: store_id, business_date
-- join core.stores (store_id): a day has its store's attributes
--
-- store_id not null: The store, as the service numbers it.
-- business_date not null: The day, in the store's time zone.
-- weekday: 1 for Monday to 7 for Sunday.
-- week_start_date DATE: The Monday of its week.
-- month_start_date DATE: The first day of its month.
-- is_day_over BOOLEAN null: Whether the day had ended when an order was last observed; null if no time of observation is known.
-- is_closed BOOLEAN: Whether the day is closed in the ledger.
-- stale_count: Notified orders of the day that are not up to date.
-- completeness: As in audit.coverage: against a control total; null without one.
-- order_count >= 0: Number of orders of every sale class.
-- counted_order_count BIGINT >= 0: Number of orders with sale_class 'counted'.
-- priced_order_count: How many of them state a total_price: what counted_total_price is the sum of.
-- counted_total_price DECIMAL(38,4) null: Sum of total_price over them; null if none states it, or there are none.

-- Whether a day is over is as of the last observation of an order, not of the clock: the
-- same documents give the same rows.
with observed as (select max(last_observed_at) as observed_at from audit.loads where kind = 'orders'),
offsets as (
    select
        zones.timezone,
        arg_max(zones.offset_us, zones.from_us) as offset_us,
    from raw.zone_offsets as zones
    inner join observed on zones.from_us <= epoch_us(observed.observed_at)
    group by zones.timezone
),
zones as (select distinct timezone from raw.zone_offsets),
-- the last date that is a whole business day, or the one going on, at that time
latest as (
    select
        offsets.timezone,
        cast(
            make_timestamp(epoch_us(observed.observed_at) + offsets.offset_us)
            - cast(settings.business_day_start || ':00' as interval) as date
        ) as latest_date,
    from offsets cross join observed cross join raw.settings as settings
),
sales as (
    select
        store_id, business_date, any_value(store_name) as store_name,
        any_value(currency) as currency, -- one per store
        cast(sum(order_count) as bigint) as order_count,
        coalesce(cast(sum(order_count) filter (where sale_class = 'counted') as bigint), 0) as counted_order_count,
        coalesce(
            cast(sum(priced_order_count) filter (where sale_class = 'counted') as bigint), 0
        ) as priced_order_count,
        sum(total_price) filter (where sale_class = 'counted') as counted_total_price,
    from mart.daily_store_sales
    where store_id is not null and business_date is not null
    group by store_id, business_date
),
stores as (
    select
        sales.store_id, max(sales.store_name) as store_name, max(sales.currency) as currency,
        min(sales.business_date) as first_date, max(sales.business_date) as last_date,
        max(latest.latest_date) as latest_date,
    from sales
    cross join raw.settings as settings
    left join core.stores as stores using (store_id)
    left join zones using (timezone)
    left join latest on coalesce(zones.timezone, settings.business_day_timezone) = latest.timezone
    group by sales.store_id
),
-- at most twenty years: a wrong date must not make millions of rows
days as (
    select
        *,
        greatest(first_date, latest_date - interval 20 years) as from_date,
        least(last_date, coalesce(latest_date, first_date + interval 20 years)) as to_date,
        cast(unnest(generate_series(from_date, to_date, interval 1 day)) as date) as business_date,
    from stores
)

select
    days.store_id, days.business_date, days.store_name,
    isodow(days.business_date) as weekday,
    cast(date_trunc('week', days.business_date) as date) as week_start_date,
    cast(date_trunc('month', days.business_date) as date) as month_start_date,
    days.business_date < days.latest_date as is_day_over,
    if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) is not null as is_closed,
    coalesce(coverage.stale_count, 0) as stale_count, coverage.completeness,
    -- sales; a day without orders has none
    days.currency, coalesce(sales.order_count, 0) as order_count,
    coalesce(sales.counted_order_count, 0) as counted_order_count,
    coalesce(sales.priced_order_count, 0) as priced_order_count, sales.counted_total_price,
from days
left join sales using (store_id, business_date)
$closes_of days
left join audit.coverage as coverage using (store_id, business_date)
