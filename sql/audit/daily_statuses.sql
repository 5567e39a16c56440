-- One row per business day, order status and currency: figures of the orders that have it, as last observed.
--
-- A step: read audit.status_evidence instead.
-- Source: mart.orders. Kept by day: a run counts affected days only.
--
-- key: business_date, status, currency
-- scope: day
--
-- status: Status of the order, as sent; null if the service sent none.
-- sale_class null: Its class in [sales]: counted, excluded or unmapped; null if all its orders were deleted.
-- order_count: Orders that have it.
-- subtotal_price DECIMAL(38,4): Sum of subtotal_price over the orders that state it; null if none does.
-- total_price DECIMAL(38,4): Sum of total_price over the orders that state it; null if none does.
-- ages BIGINT[]: Distinct ages in whole hours, from creation to the last request, ascending.
-- order_counts_by_age BIGINT[]: Order count of each of those ages.

-- timestamps without a zone, in UTC: DuckDB computes with them a hundred times as fast
with times as (
    select
        *,
        make_timestamp(epoch_us(created_at)) as created_utc,
        make_timestamp(epoch_us(last_checked_at)) as checked_utc,
    from mart.orders
),

orders as (
    select
        business_date, status, currency,
        -- whole hours, so that the median is an observed age
        date_diff('hour', created_utc, checked_utc) as age_hours,
        any_value(nullif(sale_class, 'deleted')) as sale_class, -- a status has one
        count(*) as order_count,
        count(*) filter (where is_deleted) as deleted_count,
        count(*) filter (where total_price = 0) as zero_total_count,
        count(*) filter (where total_price is null) as missing_total_count,
        sum(subtotal_price) as subtotal_price,
        sum(total_price) as total_price,
        min(created_at) as first_created_at,
        max(created_at) as last_created_at,
        count(*) filter (where checked_utc >= created_utc + interval 7 day)
            as week_old_count,
    from times
    group by business_date, status, currency, age_hours
)

select
    business_date,
    status,
    currency,
    -- its class in [sales]
    any_value(sale_class) as sale_class,
    -- orders
    cast(sum(order_count) as bigint) as order_count,
    cast(sum(deleted_count) as bigint) as deleted_count,
    cast(sum(zero_total_count) as bigint) as zero_total_count,
    cast(sum(missing_total_count) as bigint) as missing_total_count,
    -- money
    cast(sum(subtotal_price) as decimal(38, 4)) as subtotal_price,
    cast(sum(total_price) as decimal(38, 4)) as total_price,
    -- age
    min(first_created_at) as first_created_at,
    max(last_created_at) as last_created_at,
    coalesce(list(age_hours order by age_hours) filter (where age_hours is not null), [])
        as ages,
    coalesce(
        list(order_count order by age_hours) filter (where age_hours is not null), []
    ) as order_counts_by_age,
    cast(sum(week_old_count) as bigint) as week_old_count,
from orders
group by business_date, status, currency
