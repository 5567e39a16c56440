-- One row per order ever observed, as last observed: the table to start from.
--
-- Source: core.orders, core.order_lines, core.order_deliveries, core.stores, [business_day] and [sales].
-- Caveats: sales are the rows with sale_class 'counted'; without lists in [sales] there are none. A join to lines or
-- deliveries multiplies an order's money. total_price is as sent: see mart.order_reconciliation. A late-arriving older
-- order renumbers its customer's later orders.
--
-- key: order_id
-- scope: order
-- join core.stores (store_id): an order has its store's attributes
-- join multiplies core.store_menus (store_id): a store has several menus
-- join multiplies core.order_lines (order_id): an order has several lines: its money multiplies
-- join multiplies core.order_deliveries (order_id): an order may have several delivery records
--
-- customer_order_no: Which order of its customer it is, from 1, by created_at, then order_id: of every store and sale class, among orders observed. Null without customer_key or created_at.
-- is_first_order BOOLEAN null: Whether it is its customer's first order (customer_order_no 1); null without one.
-- timezone not null: The time zone of local times and business day: that of the store's record when the order was created or, with [business_day] zone_changes = "all", of the latest.
-- timezone_source ENUM('setting', 'store'): store: from the store record. setting: [business_day] timezone, if the record has none or an invalid one.
-- delivery_count BIGINT >= 0: Number of delivery records.
-- delivery_type VARCHAR null: Who delivers, as the last record that says so does; null if none.
-- last_delivery_status VARCHAR null: The status of the last record that has one; null if none.
-- created_at_local TIMESTAMP null: When it was created, in the store's time zone, without offset: in the repeated hour of autumn two instants look the same.
-- requested_time_local TIMESTAMP null: The time that the customer requested, in the store's time zone, without offset: in the repeated hour of autumn two instants look the same.
-- promised_delivery_time_local TIMESTAMP null: The promised delivery time, in the store's time zone, without offset: in the repeated hour of autumn two instants look the same.
-- promised_pick_up_time_local TIMESTAMP null: The promised pick-up time, in the store's time zone, without offset: in the repeated hour of autumn two instants look the same. Null if not for pick-up.
-- hour BIGINT null >= 0 <= 23: The hour of created_at_local, 0 to 23; null without created_at.
-- daypart VARCHAR null: The daypart of that hour, by [business_day] dayparts; null without created_at, and without dayparts.
-- weekday null: Of the business day: 1 for Monday to 7 for Sunday.
-- minutes_promised BIGINT null: Whole minutes from created_at to the promised delivery, else pick-up; negative if that is before.
-- line_count: Number of lines.
-- unit_count: Sum of the lines' quantities; 0 without lines, null if there are lines but no quantities.
-- last_checked_at TIMESTAMPTZ null: Freshness: when the order was last requested, whatever the answer; null if an archive has no time.
with zones as (select distinct timezone from raw.zone_offsets),
-- zones that records of a store stated before the last one, and until when
earlier_zones as (
    select
        store_id,
        list({'timezone': timezone, 'until_us': until_us} order by until_us) as spans,
    from (
        select
            store_id, timezone,
            epoch_us(lead(first_listed_at) over (partition by store_id order by version_no)) as until_us,
        from core.store_versions semi join zones using (timezone)
    )
    where until_us is not null
    group by store_id
),
zoned as (
    select
        orders.order_id,
        epoch_us(orders.created_at) as created_us,
        epoch_us(orders.requested_time) as requested_us,
        epoch_us(orders.promised_delivery_time) as delivery_us,
        epoch_us(orders.promised_pick_up_time) as pick_up_us,
        list_filter(
            if(settings.business_day_zone_changes = 'all', [], earlier.spans),
            lambda span: coalesce(created_us, requested_us, delivery_us, pick_up_us) < span.until_us
        )[1].timezone as earlier_timezone,
        coalesce(earlier_timezone, zones.timezone, settings.business_day_timezone) as timezone,
        -- the store's record has none, or an invalid one
        if(coalesce(earlier_timezone, zones.timezone) is null, 'setting', 'store') as timezone_source,
    from core.orders as orders
    cross join raw.settings as settings
    left join core.stores as stores using (store_id)
    left join zones using (timezone)
    left join earlier_zones as earlier using (store_id)
),
-- for speed: other zones need not be sorted
used_zones as (
    select timezone from core.stores
    union
    select timezone from core.store_versions
    union
    select business_day_timezone from raw.settings
),
offsets as (from raw.zone_offsets where timezone in (select timezone from used_zones)),
-- times on the clocks of the order's zone
clocks as (
    select
        zoned.order_id, zoned.timezone, zoned.timezone_source,
        make_timestamp(zoned.created_us + created.offset_us) as created_at_local,
        make_timestamp(zoned.requested_us + requested.offset_us) as requested_time_local,
        make_timestamp(zoned.delivery_us + delivery.offset_us) as promised_delivery_time_local,
        make_timestamp(zoned.pick_up_us + pick_up.offset_us) as promised_pick_up_time_local,
    from zoned
    asof left join offsets as created on zoned.timezone = created.timezone and zoned.created_us >= created.from_us
    asof left join offsets as requested
        on zoned.timezone = requested.timezone and zoned.requested_us >= requested.from_us
    asof left join offsets as delivery on zoned.timezone = delivery.timezone and zoned.delivery_us >= delivery.from_us
    asof left join offsets as pick_up on zoned.timezone = pick_up.timezone and zoned.pick_up_us >= pick_up.from_us
),
contents as (
    select
        order_id, count(*) as line_count,
        -- a sum of 64-bit integers may need more than 64 bits
        cast(sum(quantity) as decimal(38, 0)) as unit_count,
    from core.order_lines group by order_id
),
-- of several records the last that states it
deliveries as (
    select
        order_id, count(*) as delivery_count,
        arg_max(type, delivery_no) as delivery_type,
        arg_max(status, delivery_no) as last_delivery_status,
    from core.order_deliveries group by order_id
)

select
    orders.order_id, orders.store_id, orders.customer_key, numbers.customer_order_no,
    numbers.customer_order_no = 1 as is_first_order,
    stores.name as store_name, clocks.timezone, clocks.timezone_source,
    cast(
        case settings.business_day_time
            when 'created_at' then clocks.created_at_local
            when 'requested_time' then clocks.requested_time_local
            when 'promised_delivery_time' then clocks.promised_delivery_time_local
        end - cast(settings.business_day_start || ':00' as interval) as date
    ) as business_date,
    case
        when orders.is_deleted then 'deleted'
        when list_contains(settings.sales_counted, orders.status) then 'counted'
        when list_contains(settings.sales_excluded, orders.status) then 'excluded'
        else 'unmapped'
    end as sale_class,
    orders.status, orders.platform, orders.dispatch_method, orders.is_deleted,
    coalesce(deliveries.delivery_count, 0) as delivery_count, deliveries.delivery_type,
    deliveries.last_delivery_status, orders.created_at, orders.requested_time, orders.promised_delivery_time,
    orders.promised_pick_up_time, clocks.created_at_local, clocks.requested_time_local,
    clocks.promised_delivery_time_local, clocks.promised_pick_up_time_local,
    extract(hour from clocks.created_at_local) as hour,
    settings.daypart_of_hour[hour + 1] as daypart,
    isodow(business_date) as weekday,
    -- whole minutes, seconds cut off
    (
        epoch_us(coalesce(orders.promised_delivery_time, orders.promised_pick_up_time)) - epoch_us(orders.created_at)
    ) // 60000000 as minutes_promised,
    coalesce(contents.line_count, 0) as line_count,
    if(contents.order_id is null, 0, contents.unit_count) as unit_count,
    coalesce(stores.currency, nullif(settings.finance_currency, '')) as currency,
    orders.$price,
    checks.last_checked_at, orders._fetched_at, orders._load_id,
from core.orders as orders
inner join clocks using (order_id)
cross join raw.settings as settings
left join core.stores as stores using (store_id)
left join workings.customer_order_numbers as numbers using (order_id)
left join contents using (order_id)
left join deliveries using (order_id)
left join raw.order_checks as checks using (order_id)
