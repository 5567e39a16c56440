-- One row per delivery record of an order, in the order of the document.
with

latest as (
    select order_id, document.deliveries as deliveries, _load_id, from raw.latest_orders
),

deliveries as (
    select
        order_id,
        generate_subscripts(deliveries, 1) as delivery_no,
        unnest(deliveries) as delivery,
        _load_id,
    from latest
)

select
    -- keys
    order_id,
    delivery_no,
    delivery.id as delivery_id,
    -- what kind
    delivery.type as type,
    delivery.status as status,
    -- what the vault holds
    delivery.has_confirmation_code as has_confirmation_code,
    delivery.confirmation_code as confirmation_code,
    delivery.has_tracking_url as has_tracking_url,
    delivery.tracking_url as tracking_url,
    -- lineage
    _load_id,
from deliveries
