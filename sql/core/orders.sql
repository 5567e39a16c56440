-- One row per order, in its latest version.
--
-- Source: get order details, every field of the interface that is not personal; raw.latest_orders.
-- Caveats: the interface does not say which statuses are sales: see mart.orders. An order deleted at source stays,
-- with is_deleted. While core.order_changes__are_of_one_order lists an id, the first order's last version stands.
-- Prices are never filled in: null means that the source gave none. A time outside [business_day] first_year to
-- last_year counts as not stated: impossible_times has it as sent.
--
-- key: order_id
-- scope: order
-- in core.stores (store_id), warning reference_a_known_store: Every store that an order names has an observed record.
--
-- impossible_times VARCHAR[] null: The times outside [business_day] first_year to last_year, as `field: time as sent`; null if there is none.
-- has_user_phone BOOLEAN null: Whether there is a phone number; false for an empty text, null if the source gave null or nothing.
-- has_user_email BOOLEAN null: Whether there is an e-mail address; false for an empty text, null if the source gave null or nothing.
-- has_user_address BOOLEAN null: Whether there is an address; false for an empty text, null if the source gave null or nothing.
-- has_user_name BOOLEAN null: Whether there is a name; false for an empty text, null if the source gave null or nothing.
-- has_apartment_details BOOLEAN null: Whether there is an address complement; false for an empty text, null if the source gave null or nothing.
-- has_user_latitude BOOLEAN null: Whether there is a latitude; false for an empty text, null if the source gave null or nothing.
-- has_user_longitude BOOLEAN null: Whether there is a longitude; false for an empty text, null if the source gave null or nothing.
-- has_dispatch_note BOOLEAN null: Whether there is a note for dispatch; false for an empty text, null if the source gave null or nothing.
-- dispatch_note VARCHAR null: The text, if [privacy] plaintext_fields names it; else null here and encrypted in the vault.
-- _payload_sha256: SHA-256 of the document without personal data.
select
    order_id, document.store_id as store_id, customer_key, document.status as status,
    document.platform as platform, document.dispatch_method as dispatch_method,
    instant_within_range(document.created_at, business_day_from, business_day_until) as created_at,
    instant_within_range(document.requested_time, business_day_from, business_day_until) as requested_time,
    instant_within_range(document.promised_delivery_time, business_day_from, business_day_until)
        as promised_delivery_time,
    instant_within_range(document.promised_pick_up_time, business_day_from, business_day_until)
        as promised_pick_up_time,
    nullif(
        list_transform(
            list_filter(
                [
                    {'name': 'created_at', 'sent': document.created_at},
                    {'name': 'requested_time', 'sent': document.requested_time},
                    {'name': 'promised_delivery_time', 'sent': document.promised_delivery_time},
                    {'name': 'promised_pick_up_time', 'sent': document.promised_pick_up_time},
                ],
                lambda each: each.sent is not null
                    and instant_within_range(each.sent, business_day_from, business_day_until) is null
            ),
            lambda each: each.name || ': ' || each.sent
        ),
        []
    ) as impossible_times,
    document.$price as $price,
    document.has_user_phone as has_user_phone, document.has_user_email as has_user_email,
    document.has_user_address as has_user_address, document.has_user_name as has_user_name,
    document.has_apartment_details as has_apartment_details, document.has_user_latitude as has_user_latitude,
    document.has_user_longitude as has_user_longitude, document.has_dispatch_note as has_dispatch_note,
    document.dispatch_note as dispatch_note, is_deleted, _fetched_at, _load_id, _payload_sha256,
from raw.latest_orders
cross join raw.settings as settings
