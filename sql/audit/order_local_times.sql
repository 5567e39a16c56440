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

with

zoned as (
    select
        orders.*,
        coalesce(zones.timezone, settings.business_day_timezone) as timezone,
        -- null: the store's record has none, or an invalid one
        if(zones.timezone is null, 'setting', 'store') as timezone_source,
    from core.orders as orders
    cross join raw.settings as settings
    left join core.stores as stores on orders.store_id = stores.store_id
    left join (select distinct timezone from raw.zone_offsets) as zones
        on stores.timezone = zones.timezone
),

-- for speed: other zones need not be sorted
offsets as (
    from raw.zone_offsets
    where timezone in (select timezone from zoned)
)

select
    -- keys
    zoned.order_id,
    -- zone
    zoned.timezone,
    zoned.timezone_source,
    -- times
    make_timestamp(epoch_us(zoned.created_at) + created.offset_us) as created_at_local,
    make_timestamp(epoch_us(zoned.requested_time) + requested.offset_us)
        as requested_time_local,
    make_timestamp(epoch_us(zoned.promised_delivery_time) + delivery.offset_us)
        as promised_delivery_time_local,
    make_timestamp(epoch_us(zoned.promised_pick_up_time) + pick_up.offset_us)
        as promised_pick_up_time_local,
from zoned
asof left join offsets as created
    on zoned.timezone = created.timezone
    and epoch_us(zoned.created_at) >= created.from_us
asof left join offsets as requested
    on zoned.timezone = requested.timezone
    and epoch_us(zoned.requested_time) >= requested.from_us
asof left join offsets as delivery
    on zoned.timezone = delivery.timezone
    and epoch_us(zoned.promised_delivery_time) >= delivery.from_us
asof left join offsets as pick_up
    on zoned.timezone = pick_up.timezone
    and epoch_us(zoned.promised_pick_up_time) >= pick_up.from_us
