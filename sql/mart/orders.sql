-- One row per order that was ever observed, as last observed.
with

zones as (
    select distinct name as timezone from pg_timezone_names()
),

stores as (
    select
        stores.store_id,
        stores.name as store_name,
        stores.currency,
        zones.timezone, -- null where the record names none, or none that exists
    from core.stores as stores
    left join zones on stores.timezone = zones.timezone
),

contents as (
    select
        order_id,
        count(*) as lines,
        -- quantities are any 64-bit integers, so their sum may be wider
        cast(sum(quantity) as decimal(38, 0)) as units,
    from core.order_lines
    group by order_id
),

placed as (
    select
        orders.*,
        stores.store_name,
        stores.currency,
        coalesce(stores.timezone, settings.business_day_timezone) as timezone,
        if(stores.timezone is null, 'setting', 'store') as timezone_source,
        settings.business_day_time,
        cast(settings.business_day_start || ':00' as interval) as day_start,
        case
            when orders.is_gone then 'gone'
            when list_contains(settings.sales_counted, orders.status) then 'counted'
            when list_contains(settings.sales_excluded, orders.status) then 'excluded'
            else 'unmapped'
        end as sale_class,
        make_timestamp(epoch_us(orders.created_at)) as created_utc,
        make_timestamp(epoch_us(orders.requested_time)) as requested_utc,
        make_timestamp(epoch_us(orders.promised_delivery_time)) as delivery_utc,
        make_timestamp(epoch_us(orders.promised_pick_up_time)) as pick_up_utc,
    from core.orders as orders
    cross join raw.settings as settings
    left join stores on orders.store_id = stores.store_id
),

-- Asking ICU for every row costs more than all the rest: ask it once per zone and UTC day,
-- and row by row only on days in which the offset changes.
zone_days as (
    select timezone, cast(created_utc as date) as utc_day from placed
    union
    select timezone, cast(requested_utc as date) as utc_day from placed
    union
    select timezone, cast(delivery_utc as date) as utc_day from placed
    union
    select timezone, cast(pick_up_utc as date) as utc_day from placed
),

day_ends as (
    select
        timezone,
        utc_day,
        timezone(timezone, timezone('UTC', cast(utc_day as timestamp)))
            - cast(utc_day as timestamp) as at_start,
        timezone(timezone, timezone('UTC', cast(utc_day + 1 as timestamp)))
            - cast(utc_day + 1 as timestamp) as at_end,
    from zone_days
),

offsets as (
    select
        timezone,
        utc_day,
        at_start as utc_offset,
    from day_ends
    where at_start = at_end
),

localised as (
    select
        placed.*,
        case
            when created.utc_offset is not null then created_utc + created.utc_offset
            else timezone(placed.timezone, created_at)
        end as created_at_local,
        case
            when requested.utc_offset is not null then requested_utc + requested.utc_offset
            else timezone(placed.timezone, requested_time)
        end as requested_time_local,
        case
            when delivery.utc_offset is not null then delivery_utc + delivery.utc_offset
            else timezone(placed.timezone, promised_delivery_time)
        end as promised_delivery_time_local,
        case
            when pick_up.utc_offset is not null then pick_up_utc + pick_up.utc_offset
            else timezone(placed.timezone, promised_pick_up_time)
        end as promised_pick_up_time_local,
    from placed
    left join offsets as created
        on placed.timezone = created.timezone
        and cast(placed.created_utc as date) = created.utc_day
    left join offsets as requested
        on placed.timezone = requested.timezone
        and cast(placed.requested_utc as date) = requested.utc_day
    left join offsets as delivery
        on placed.timezone = delivery.timezone
        and cast(placed.delivery_utc as date) = delivery.utc_day
    left join offsets as pick_up
        on placed.timezone = pick_up.timezone
        and cast(placed.pick_up_utc as date) = pick_up.utc_day
)

select
    -- keys
    localised.order_id,
    localised.store_id,
    localised.customer_key,
    -- the store
    localised.store_name,
    localised.timezone,
    localised.timezone_source,
    -- where it is counted
    cast(
        case localised.business_day_time
            when 'created_at' then localised.created_at_local
            when 'requested_time' then localised.requested_time_local
            when 'promised_delivery_time' then localised.promised_delivery_time_local
        end - localised.day_start as date
    ) as business_date,
    localised.sale_class,
    -- state
    localised.status,
    localised.platform,
    localised.dispatch_method,
    localised.is_gone,
    -- times
    localised.created_at,
    localised.created_at_local,
    localised.requested_time_local,
    localised.promised_delivery_time_local,
    localised.promised_pick_up_time_local,
    -- what was ordered
    coalesce(contents.lines, 0) as lines,
    if(contents.order_id is null, 0, contents.units) as units,
    -- money
    localised.currency,
    localised.subtotal_price,
    localised.delivery_price,
    localised.tip,
    localised.discount,
    localised.loyalty_discount,
    localised.total_price,
    -- lineage
    checks.last_checked_at,
    localised._load_id,
from localised
left join contents on localised.order_id = contents.order_id
left join raw.order_checks as checks on localised.order_id = checks.order_id
