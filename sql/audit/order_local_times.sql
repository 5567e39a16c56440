-- One row per order: its time zone, and its times on that zone's clocks.
--
-- A step: read mart.orders instead.
-- Source: core.orders, core.stores, [business_day] timezone and the IANA database.
--
-- key: order_id
-- scope: order
--
-- timezone not null: The time zone of local times and business day.

with zoned as (
    select
        orders.order_id,
        coalesce(zones.timezone, settings.business_day_timezone) as timezone,
        -- null: the store's record has none, or an invalid one
        if(zones.timezone is null, 'setting', 'store') as timezone_source,
        epoch_us(orders.created_at) as created_us,
        epoch_us(orders.requested_time) as requested_us,
        epoch_us(orders.promised_delivery_time) as delivery_us,
        epoch_us(orders.promised_pick_up_time) as pick_up_us,
    from core.orders as orders
    cross join raw.settings as settings
    left join core.stores as stores using (store_id)
    left join (select distinct timezone from raw.zone_offsets) as zones using (timezone)
),

-- for speed: other zones need not be sorted
used_zones as (
    select timezone from core.stores
    union
    select business_day_timezone from raw.settings
),

offsets as (
    from raw.zone_offsets
    where timezone in (select timezone from used_zones)
)

select
    zoned.order_id,
    -- zone
    zoned.timezone,
    zoned.timezone_source,
    -- times
    make_timestamp(zoned.created_us + created.offset_us) as created_at_local,
    make_timestamp(zoned.requested_us + requested.offset_us)
        as requested_time_local,
    make_timestamp(zoned.delivery_us + delivery.offset_us)
        as promised_delivery_time_local,
    make_timestamp(zoned.pick_up_us + pick_up.offset_us)
        as promised_pick_up_time_local,
from zoned
asof left join offsets as created
    on zoned.timezone = created.timezone
    and zoned.created_us >= created.from_us
asof left join offsets as requested
    on zoned.timezone = requested.timezone
    and zoned.requested_us >= requested.from_us
asof left join offsets as delivery
    on zoned.timezone = delivery.timezone
    and zoned.delivery_us >= delivery.from_us
asof left join offsets as pick_up
    on zoned.timezone = pick_up.timezone
    and zoned.pick_up_us >= pick_up.from_us
