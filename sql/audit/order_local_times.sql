-- One row per order: its time zone, and its times on that zone's clocks.
--
-- A step: read mart.orders instead.
-- Source: core.orders, core.stores, [business_day] timezone and the IANA database.
--
-- key: order_id
-- scope: order
-- released: no
--
-- timezone not null: The time zone of local times and business day.

-- For speed: offsets from UTC change rarely, so the span of an offset is looked up once
-- per timezone and UTC day of an order's first time. Its other times usually lie in the
-- same span; the exceptions are looked up one by one.
with

stores as (
    select
        stores.store_id,
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

-- not materialized: three scans of a few columns cost less than keeping all of them
clocked as not materialized (
    select
        orders.order_id,
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
)

select
    -- keys
    spanned.order_id,
    -- zone
    spanned.zone as timezone,
    spanned.timezone_source,
    -- times; coalesce: the offset of the day's span or of the single lookup
    make_timestamp(created_us + coalesce(created_offset, created.offset_us))
        as created_at_local,
    make_timestamp(requested_us + coalesce(requested_offset, requested.offset_us))
        as requested_time_local,
    make_timestamp(delivery_us + coalesce(delivery_offset, delivery.offset_us))
        as promised_delivery_time_local,
    make_timestamp(pick_up_us + coalesce(pick_up_offset, pick_up.offset_us))
        as promised_pick_up_time_local,
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
