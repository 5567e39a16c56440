-- orders_as_of(ts): one row per order observed by then, as last observed.
-- Unknown observation times, of archives, count as earliest.
select
    order_id,
    version_no,
    lines_version_no,
    first_seen_at,
    last_seen_at,
    status,
    delivery_ids,
    delivery_statuses,
    subtotal_price,
    delivery_price,
    tip,
    discount,
    loyalty_discount,
    total_price,
    _load_id,
    _payload_sha256,
from core.order_versions
where first_seen_at is null or first_seen_at <= cast(ts as timestamp with time zone)
qualify row_number() over (partition by order_id order by version_no desc) = 1
