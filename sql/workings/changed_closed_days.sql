-- One row per store, closed day and sale class whose orders may differ from their books.
--
-- A step: read audit.pending_restatements instead.
-- Source: workings.closed_day_totals, workings.daily_fingerprints, raw.restated and raw.day_closes.
--
-- key: store_id, business_date, sale_class
--
-- business_date not null: The closed business day.
-- sale_class: The sale class of the amount: counted, excluded, unmapped or deleted.

-- Where fingerprints differ, where there are orders on one side alone, and where something
-- was restated. Orders of other days need not be read.
with places as (
    select
        business_date, store_id, sale_class,
        -- of all platforms and currencies, as the days have it
        cast(bit_xor(cast(fingerprint as ubigint)) as varchar) as fingerprint,
        cast(sum(order_count) as bigint) as order_count,
        false as is_restated,
    from workings.closed_day_totals group by business_date, store_id, sale_class
    union all by name
    select business_date, store_id, sale_class, fingerprint, order_count, false as is_restated,
    from workings.daily_fingerprints
    union all by name
    select business_date, store_id, sale_class, true as is_restated from raw.restated
)

select
    places.business_date, places.store_id, places.sale_class,
    any_value(if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)) as close_entry_no,
from places
$closes_of places
where if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) is not null
group by places.business_date, places.store_id, places.sale_class
having
    bool_or(places.is_restated)
    or count(*) < 2
    or min(places.fingerprint) <> max(places.fingerprint)
    or min(places.order_count) <> max(places.order_count)
