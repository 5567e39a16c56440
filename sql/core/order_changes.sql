-- One row per later version of an order, and field in which it differs from the version before.
with

compared as (
    select
        order_id,
        version_no,
        before,
        after,
        changed_personal,
    from raw.order_edits
),

-- fields whose values stand in tables
plaintext_fields as (
    select
        order_id,
        version_no,
        unnest(
            [
                struct_pack(
                    field := 'store_id',
                    old_value := cast(before.store_id as varchar),
                    new_value := cast(after.store_id as varchar)
                ),
                struct_pack(
                    field := 'status', old_value := before.status, new_value := after.status
                ),
                struct_pack(
                    field := 'platform', old_value := before.platform, new_value := after.platform
                ),
                struct_pack(
                    field := 'dispatch_method',
                    old_value := before.dispatch_method,
                    new_value := after.dispatch_method
                ),
                struct_pack(
                    field := 'created_at',
                    old_value := cast(before.created_at as varchar),
                    new_value := cast(after.created_at as varchar)
                ),
                struct_pack(
                    field := 'requested_time',
                    old_value := cast(before.requested_time as varchar),
                    new_value := cast(after.requested_time as varchar)
                ),
                struct_pack(
                    field := 'promised_delivery_time',
                    old_value := cast(before.promised_delivery_time as varchar),
                    new_value := cast(after.promised_delivery_time as varchar)
                ),
                struct_pack(
                    field := 'promised_pick_up_time',
                    old_value := cast(before.promised_pick_up_time as varchar),
                    new_value := cast(after.promised_pick_up_time as varchar)
                ),
                struct_pack(
                    field := 'subtotal_price',
                    old_value := cast(before.subtotal_price as varchar),
                    new_value := cast(after.subtotal_price as varchar)
                ),
                struct_pack(
                    field := 'delivery_price',
                    old_value := cast(before.delivery_price as varchar),
                    new_value := cast(after.delivery_price as varchar)
                ),
                struct_pack(
                    field := 'tip',
                    old_value := cast(before.tip as varchar),
                    new_value := cast(after.tip as varchar)
                ),
                struct_pack(
                    field := 'discount',
                    old_value := cast(before.discount as varchar),
                    new_value := cast(after.discount as varchar)
                ),
                struct_pack(
                    field := 'loyalty_discount',
                    old_value := cast(before.loyalty_discount as varchar),
                    new_value := cast(after.loyalty_discount as varchar)
                ),
                struct_pack(
                    field := 'total_price',
                    old_value := cast(before.total_price as varchar),
                    new_value := cast(after.total_price as varchar)
                ),
            ]
        ) as change,
    from compared
),

-- fields of which only the name may be told, and arrays, whose rows have tables of their own
named_fields as (
    select
        order_id,
        version_no,
        unnest(
            list_distinct(
                list_filter(
                    [
                        if(before.items is distinct from after.items, 'items', null),
                        if(
                            before.deliveries is distinct from after.deliveries,
                            'deliveries',
                            null
                        ),
                        if(
                            before.has_user_phone is distinct from after.has_user_phone,
                            'user_phone',
                            null
                        ),
                        if(
                            before.has_user_email is distinct from after.has_user_email,
                            'user_email',
                            null
                        ),
                        if(
                            before.has_user_address
                            is distinct from after.has_user_address,
                            'user_address',
                            null
                        ),
                        if(
                            before.has_user_name is distinct from after.has_user_name,
                            'user_name',
                            null
                        ),
                        if(
                            before.has_apartment_details
                            is distinct from after.has_apartment_details,
                            'apartment_details',
                            null
                        ),
                        if(
                            before.has_user_latitude
                            is distinct from after.has_user_latitude,
                            'user_latitude',
                            null
                        ),
                        if(
                            before.has_user_longitude
                            is distinct from after.has_user_longitude,
                            'user_longitude',
                            null
                        ),
                        if(
                            before.has_dispatch_note
                            is distinct from after.has_dispatch_note
                            or before.dispatch_note is distinct from after.dispatch_note,
                            'dispatch_note',
                            null
                        ),
                    ]
                    || coalesce(changed_personal, []),
                    lambda name: name is not null
                )
            )
        ) as field,
    from compared
)

select
    -- keys
    order_id,
    version_no,
    change.field as field,
    -- what was, and what is
    change.old_value as old_value,
    change.new_value as new_value,
from plaintext_fields
where change.old_value is distinct from change.new_value

union all

select
    order_id,
    version_no,
    field,
    cast(null as varchar) as old_value,
    cast(null as varchar) as new_value,
from named_fields

union all

select
    order_id,
    version_no,
    field,
    old_value,
    new_value,
from core.order_changes -- as it was before this build
