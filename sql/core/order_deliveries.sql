-- One row per delivery record of an order, in the order of the document.
--
-- Source: deliveries of get order details.
-- Caveats: an order may have none or several; delivery_id may not be unique.
--
-- key: order_id, delivery_no
-- scope: order
-- in core.orders (order_id), blocking belong_to_an_order: Every delivery record belongs to an order.
-- unique (order_id, delivery_id), warning have_unique_ids: No two delivery records of an order have the same id.
-- join mart.orders (order_id): a delivery record has its order; the order's money repeats: do not sum it
--
-- type VARCHAR null: Who delivers, as sent (the interface's example: own_delivery; audit.vocabulary has the values seen).
-- status: The delivery's status, as sent (the interface's example: confirmed; audit.vocabulary has the values seen).
-- has_confirmation_code BOOLEAN null: Whether there is a confirmation code; false for an empty text, null if the source gave null or nothing.
-- confirmation_code VARCHAR null: The text, if [privacy] plaintext_fields names it; else null here and encrypted in the vault.
-- has_tracking_url BOOLEAN null: Whether there is a tracking URL; false for an empty text, null if the source gave null or nothing.
-- tracking_url VARCHAR null: The text, if [privacy] plaintext_fields names it; else null here and encrypted in the vault.
with deliveries as (
    select
        order_id,
        generate_subscripts(document.deliveries, 1) as delivery_no,
        unnest(document.deliveries) as delivery,
        _load_id,
    from raw.latest_orders
)

select
    order_id, delivery_no, delivery.id as delivery_id, delivery.type as type, delivery.status as status,
    delivery.has_confirmation_code as has_confirmation_code, delivery.confirmation_code as confirmation_code,
    delivery.has_tracking_url as has_tracking_url, delivery.tracking_url as tracking_url, _load_id,
from deliveries
