-- One row per order ever observed, as last observed.
--
-- For speed: offsets from UTC change rarely, so the span of an offset is looked up once
-- per timezone and UTC day of an order's first time. Its other times usually lie in the
-- same span; the exceptions are looked up one by one.
with

stores as (
    select
        stores.store_id,
        stores.name as store_name,
        stores.currency,
        zones.timezone, -- null if the record has none or an invalid one
    from core.stores as stores
    left join (select distinct timezone from raw.zone_offsets) as zones
        on stores.timezone = zones.timezone
),

used_zones as (
    select timezone from stores
    union
    select business_day_timezone from raw.settings
),

spans as (
    select
        zones.timezone,
        zones.from_us,
        lead(zones.from_us, 1, 9223372036854775807) over (
            partition by zones.timezone order by zones.from_us
        ) as until_us,
        zones.offset_us,
    from raw.zone_offsets as zones
    semi join used_zones on zones.timezone = used_zones.timezone
),

contents as (
    select
        order_id,
        count(*) as line_count,
        -- a sum of 64-bit integers may need more than 64 bits
        cast(sum(quantity) as decimal(38, 0)) as unit_count,
    from core.order_lines
    group by order_id
),

-- of several records the last that states it
deliveries as (
    select
        order_id,
        count(*) as delivery_count,
        arg_max(type, delivery_no) as delivery_type,
        arg_max(status, delivery_no) as last_delivery_status,
    from core.order_deliveries
    group by order_id
),

-- not materialized: three scans of a few columns cost less than keeping all of them
clocked as not materialized (
    select
        orders.*,
        stores.store_name,
        stores.currency,
        coalesce(stores.timezone, settings.business_day_timezone) as zone,
        if(stores.timezone is null, 'setting', 'store') as timezone_source,
        epoch_us(orders.created_at) as created_us,
        epoch_us(orders.requested_time) as requested_us,
        epoch_us(orders.promised_delivery_time) as delivery_us,
        epoch_us(orders.promised_pick_up_time) as pick_up_us,
        cast(
            make_timestamp(coalesce(created_us, requested_us, delivery_us, pick_up_us))
            as date
        ) as utc_day,
    from core.orders as orders
    cross join raw.settings as settings
    left join stores on orders.store_id = stores.store_id
),

days as (
    select distinct zone, utc_day from clocked where utc_day is not null
),

day_spans as (
    select
        days.zone,
        days.utc_day,
        spans.from_us,
        spans.until_us,
        spans.offset_us,
    from days
    asof inner join spans
        on days.zone = spans.timezone
        and epoch_us(cast(days.utc_day as timestamp)) >= spans.from_us
),

spanned as not materialized (
    select
        clocked.*,
        if(created_us >= from_us and created_us < until_us, offset_us, null)
            as created_offset,
        if(requested_us >= from_us and requested_us < until_us, offset_us, null)
            as requested_offset,
        if(delivery_us >= from_us and delivery_us < until_us, offset_us, null)
            as delivery_offset,
        if(pick_up_us >= from_us and pick_up_us < until_us, offset_us, null)
            as pick_up_offset,
    from clocked
    left join day_spans
        on clocked.zone = day_spans.zone
        and clocked.utc_day = day_spans.utc_day
),

others as (
    select distinct
        zone,
        unnest([created_us, requested_us, delivery_us, pick_up_us]) as us,
    from spanned
    where
        (created_us is not null and created_offset is null)
        or (requested_us is not null and requested_offset is null)
        or (delivery_us is not null and delivery_offset is null)
        or (pick_up_us is not null and pick_up_offset is null)
),

other_offsets as (
    select
        others.zone,
        others.us,
        spans.offset_us,
    from others
    asof inner join spans
        on others.zone = spans.timezone
        and others.us >= spans.from_us
),

-- coalesce: the offset of the day's span or of the single lookup; null times stay null
localised as not materialized (
    select
        spanned.*,
        make_timestamp(
            created_us + coalesce(created_offset, created.offset_us)
        ) as created_at_local,
        make_timestamp(
            requested_us + coalesce(requested_offset, requested.offset_us)
        ) as requested_time_local,
        make_timestamp(
            delivery_us + coalesce(delivery_offset, delivery.offset_us)
        ) as promised_delivery_time_local,
        make_timestamp(
            pick_up_us + coalesce(pick_up_offset, pick_up.offset_us)
        ) as promised_pick_up_time_local,
    from spanned
    left join other_offsets as created
        on spanned.zone = created.zone
        and spanned.created_us = created.us
    left join other_offsets as requested
        on spanned.zone = requested.zone
        and spanned.requested_us = requested.us
    left join other_offsets as delivery
        on spanned.zone = delivery.zone
        and spanned.delivery_us = delivery.us
    left join other_offsets as pick_up
        on spanned.zone = pick_up.zone
        and spanned.pick_up_us = pick_up.us
)

select
    -- keys
    orders.order_id,
    orders.store_id,
    orders.customer_key,
    -- store
    orders.store_name,
    orders.zone as timezone,
    orders.timezone_source,
    -- classification
    cast(
        case settings.business_day_time
            when 'created_at' then orders.created_at_local
            when 'requested_time' then orders.requested_time_local
            when 'promised_delivery_time' then orders.promised_delivery_time_local
        end - cast(settings.business_day_start || ':00' as interval) as date
    ) as business_date,
    case
        when orders.is_deleted then 'deleted'
        when list_contains(settings.sales_counted, orders.status) then 'counted'
        when list_contains(settings.sales_excluded, orders.status) then 'excluded'
        else 'unmapped'
    end as sale_class,
    -- state
    orders.status,
    orders.platform,
    orders.dispatch_method,
    orders.is_deleted,
    coalesce(deliveries.delivery_count, 0) as delivery_count,
    deliveries.delivery_type,
    deliveries.last_delivery_status,
    -- times
    orders.created_at,
    orders.requested_time,
    orders.promised_delivery_time,
    orders.promised_pick_up_time,
    orders.created_at_local,
    orders.requested_time_local,
    orders.promised_delivery_time_local,
    orders.promised_pick_up_time_local,
    extract(hour from orders.created_at_local) as hour,
    isodow(business_date) as weekday,
    -- whole minutes, seconds cut off
    (coalesce(orders.delivery_us, orders.pick_up_us) - orders.created_us) // 60000000
        as minutes_promised,
    -- quantities
    coalesce(contents.line_count, 0) as line_count,
    if(contents.order_id is null, 0, contents.unit_count) as unit_count,
    -- money
    coalesce(orders.currency, nullif(settings.finance_currency, '')) as currency,
    orders.subtotal_price,
    orders.delivery_price,
    orders.tip,
    orders.discount,
    orders.loyalty_discount,
    orders.total_price,
    -- lineage
    checks.last_checked_at,
    orders._fetched_at,
    orders._load_id,
from localised as orders
cross join raw.settings as settings
left join contents on orders.order_id = contents.order_id
left join deliveries on orders.order_id = deliveries.order_id
left join raw.order_checks as checks on orders.order_id = checks.order_id
