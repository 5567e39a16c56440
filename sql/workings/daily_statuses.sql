-- One row per business day, order status, currency and age of an order: figures of the orders, as last observed.
--
-- A step: read audit.status_evidence instead.
-- Source: mart.orders. Kept by day: a run counts affected days only.
--
-- key: business_date, status, currency, age_hours
-- scope: day
--
-- status: Status of the order, as sent; null if the service sent none.
-- age_hours BIGINT null: Whole hours from creation to the last request, so that the median is an observed age.
-- sale_class null: Its class in [sales]: counted, excluded or unmapped; null if all its orders were deleted.
-- order_count: Orders that have it.
-- subtotal_price DECIMAL(38,4): Sum of subtotal_price over the orders that state it; null if none does.
-- total_price DECIMAL(38,4): Sum of total_price over the orders that state it; null if none does.

-- timestamps without a zone, in UTC: DuckDB computes with them a hundred times as fast
with times as (
    select
        *,
        make_timestamp(epoch_us(created_at)) as created_utc,
        make_timestamp(epoch_us(last_checked_at)) as checked_utc,
    from mart.orders
)

select
    business_date, status, currency,
    date_diff('hour', created_utc, checked_utc) as age_hours,
    -- its class in [sales]
    any_value(nullif(sale_class, 'deleted')) as sale_class, -- a status has one
    -- orders
    count(*) as order_count,
    count(*) filter (where is_deleted) as deleted_count,
    count(*) filter (where total_price = 0) as zero_total_count,
    count(*) filter (where total_price is null) as missing_total_count,
    sum(subtotal_price) as subtotal_price, sum(total_price) as total_price, min(created_at) as first_created_at,
    max(created_at) as last_created_at,
    count(*) filter (where checked_utc >= created_utc + interval 7 day) as week_old_count,
from times
group by business_date, status, currency, age_hours
