-- One row per run of days without an order in a store that usually has some on those weekdays.
--
-- Source: mart.daily_store_sales, all sale classes. A day's usual number is the mean of the same weekday in the
-- eight weeks before, once four of them are known; a run is listed when the usual numbers of its days add up to ten.
-- Watched are the days after the first live load, up to the one before the last; archives train and raise nothing.
-- Caveats: we know of orders that we fetched: a silence may be the store's or ours. A holiday is a silence, too.
--
-- key: store_id, inactive_from_date
--
-- store_id not null: The store, as the service numbers it.
-- inactive_from_date DATE: The first day without an order.
-- inactive_to_date DATE: The last day without an order, as far as is known.
-- day_count BIGINT >= 1: How many days.
-- is_ongoing BOOLEAN: Whether no order has been seen since.
-- last_order_date DATE: The last business day with an order before.
-- expected_order_count DECIMAL(38,4) >= 10: How many orders those days usually have, added up.

-- the days watched: from the day after the first live load, to the day before the last
with watched as (
    select
        cast(min(first_observed_at) as date) + 1 as since,
        cast(max(last_observed_at) as date) - 1 as until,
    from audit.loads where kind = 'orders' and source = 'live' and not is_backfill
),
placed as (
    select store_id, business_date, sum(order_count) as orders,
    from mart.daily_store_sales
    where store_id is not null and business_date is not null
    group by store_id, business_date
),
calendar as (
    select
        store_id,
        cast(unnest(generate_series(min(business_date), any_value(until), interval 1 day)) as date) as business_date,
    from placed
    cross join watched
    where business_date <= watched.until
    group by store_id
),
days as (
    select calendar.store_id, calendar.business_date, coalesce(placed.orders, 0) as orders,
    from calendar left join placed using (store_id, business_date)
),
-- what the same weekday had in the eight weeks before, of which at least four are known
usual as (
    select
        store_id, business_date, orders,
        if(count(*) over before >= 4, cast(round(avg(orders) over before, 4) as decimal(38, 4)), 0) as expected,
        max(if(orders > 0, business_date, null)) over (partition by store_id order by business_date) as last_order_date,
    from days
    window before as (
        partition by store_id, dayofweek(business_date)
        order by business_date
        rows between 8 preceding and 1 preceding
    )
)

select
    usual.store_id, min(usual.business_date) as inactive_from_date,
    max(usual.business_date) as inactive_to_date, count(*) as day_count,
    max(usual.business_date) = any_value(watched.until) as is_ongoing,
    usual.last_order_date, sum(usual.expected) as expected_order_count,
from usual
cross join watched
where usual.orders = 0 and usual.business_date >= watched.since
group by usual.store_id, usual.last_order_date
having sum(usual.expected) >= 10
