-- One row per order, as its latest version says.
select
    -- keys
    order_id,
    document.store_id as store_id,
    customer_key,
    -- what kind
    document.status as status,
    document.platform as platform,
    document.dispatch_method as dispatch_method,
    -- times
    cast(document.created_at as timestamp with time zone) as created_at,
    cast(document.requested_time as timestamp with time zone) as requested_time,
    cast(document.promised_delivery_time as timestamp with time zone)
        as promised_delivery_time,
    cast(document.promised_pick_up_time as timestamp with time zone)
        as promised_pick_up_time,
    -- money
    document.subtotal_price as subtotal_price,
    document.delivery_price as delivery_price,
    document.tip as tip,
    document.discount as discount,
    document.loyalty_discount as loyalty_discount,
    document.total_price as total_price,
    -- what the vault holds
    document.has_user_phone as has_user_phone,
    document.has_user_email as has_user_email,
    document.has_user_address as has_user_address,
    document.has_user_name as has_user_name,
    document.has_apartment_details as has_apartment_details,
    document.has_user_latitude as has_user_latitude,
    document.has_user_longitude as has_user_longitude,
    document.has_dispatch_note as has_dispatch_note,
    document.dispatch_note as dispatch_note,
    -- state
    is_deleted,
    -- lineage
    _fetched_at,
    _load_id,
    _payload_sha256,
from raw.latest_orders
