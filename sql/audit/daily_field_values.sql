-- One row per business day and field of the order document.
--
-- i/ integer, m/ money, t/ length of a text, d/ microseconds of a time, and of what the
-- vault holds whether it is there and not empty: h/ a text, g/ a number
with

-- joined four times where it lies: keeping the rows first takes longer than all the joins
orders as not materialized (
    select
        business_date,
        order_id,
        _fetched_at,
    from mart.orders
),

order_fields as not materialized (
    select
        orders.business_date,
        orders.order_id as example_id,
        orders._fetched_at,
        facts.order_id as "i/id",
        facts.store_id as "i/store_id",
        facts.subtotal_price as "m/subtotal_price",
        facts.delivery_price as "m/delivery_price",
        facts.tip as "m/tip",
        facts.discount as "m/discount",
        facts.loyalty_discount as "m/loyalty_discount",
        facts.total_price as "m/total_price",
        length(facts.dispatch_method) as "t/dispatch_method",
        length(facts.status) as "t/status",
        length(facts.platform) as "t/platform",
        epoch_us(facts.requested_time) as "d/requested_time",
        epoch_us(facts.promised_delivery_time) as "d/promised_delivery_time",
        epoch_us(facts.promised_pick_up_time) as "d/promised_pick_up_time",
        epoch_us(facts.created_at) as "d/created_at",
        cast(facts.has_user_phone as bigint) as "h/user_phone",
        cast(facts.has_user_email as bigint) as "h/user_email",
        cast(facts.has_user_address as bigint) as "h/user_address",
        cast(facts.has_user_name as bigint) as "h/user_name",
        cast(facts.has_apartment_details as bigint) as "h/apartment_details",
        cast(facts.has_dispatch_note as bigint) as "h/dispatch_note",
        cast(facts.has_user_latitude as bigint) as "g/user_latitude",
        cast(facts.has_user_longitude as bigint) as "g/user_longitude",
    from core.orders as facts
    inner join orders on facts.order_id = orders.order_id
),

line_fields as not materialized (
    select
        orders.business_date,
        orders.order_id as example_id,
        orders._fetched_at,
        lines.line_id as "i/items/*/id",
        lines.product_id as "i/items/*/product_id",
        lines.quantity as "i/items/*/quantity",
        length(lines.name) as "t/items/*/name",
        lines.price as "m/items/*/price",
        cast(lines.has_instructions as bigint) as "h/items/*/instructions",
    from core.order_lines as lines
    inner join orders on lines.order_id = orders.order_id
),

modifier_fields as not materialized (
    select
        orders.business_date,
        orders.order_id as example_id,
        orders._fetched_at,
        modifiers.modifier_id as "i/items/*/modifiers/*/id",
        length(modifiers.name) as "t/items/*/modifiers/*/name",
        modifiers.price as "m/items/*/modifiers/*/price",
        length(modifiers.action) as "t/items/*/modifiers/*/action",
        modifiers.quantity as "i/items/*/modifiers/*/quantity",
    from core.order_line_modifiers as modifiers
    inner join orders on modifiers.order_id = orders.order_id
),

delivery_fields as not materialized (
    select
        orders.business_date,
        orders.order_id as example_id,
        orders._fetched_at,
        deliveries.delivery_id as "i/deliveries/*/id",
        length(deliveries.type) as "t/deliveries/*/type",
        length(deliveries.status) as "t/deliveries/*/status",
        cast(deliveries.has_confirmation_code as bigint)
            as "h/deliveries/*/confirmation_code",
        cast(deliveries.has_tracking_url as bigint) as "h/deliveries/*/tracking_url",
    from core.order_deliveries as deliveries
    inner join orders on deliveries.order_id = orders.order_id
),

of_orders as (
    select
        business_date,
        {
            'parent_count': count(*),
            'present_count': count(columns('/')),
            'zeros': count(if(columns('/') = 0, 1, null)),
            'max_decimals': max(
                case
                    when typeof(columns('/')) = 'BIGINT'
                        then if(columns('/') is null, null, 0)
                    when columns('/') % 1 = 0 then 0
                    when columns('/') % 0.1 = 0 then 1
                    when columns('/') % 0.01 = 0 then 2
                    when columns('/') % 0.001 = 0 then 3
                    when columns('/') is not null then 4
                end
            ),
            'min_value': cast(min(columns('/')) as decimal(38, 4)),
            'max_value': cast(max(columns('/')) as decimal(38, 4)),
            'first_seen_at': min(if(columns('/') is null, null, _fetched_at)),
            'last_seen_at': max(if(columns('/') is null, null, _fetched_at)),
            'example_id': min(if(columns('/') is null, null, example_id)),
        } as "\0",
    from order_fields
    group by business_date
),

of_lines as (
    select
        business_date,
        {
            'parent_count': count(*),
            'present_count': count(columns('/')),
            'zeros': count(if(columns('/') = 0, 1, null)),
            'max_decimals': max(
                case
                    when typeof(columns('/')) = 'BIGINT'
                        then if(columns('/') is null, null, 0)
                    when columns('/') % 1 = 0 then 0
                    when columns('/') % 0.1 = 0 then 1
                    when columns('/') % 0.01 = 0 then 2
                    when columns('/') % 0.001 = 0 then 3
                    when columns('/') is not null then 4
                end
            ),
            'min_value': cast(min(columns('/')) as decimal(38, 4)),
            'max_value': cast(max(columns('/')) as decimal(38, 4)),
            'first_seen_at': min(if(columns('/') is null, null, _fetched_at)),
            'last_seen_at': max(if(columns('/') is null, null, _fetched_at)),
            'example_id': min(if(columns('/') is null, null, example_id)),
        } as "\0",
    from line_fields
    group by business_date
),

of_modifiers as (
    select
        business_date,
        {
            'parent_count': count(*),
            'present_count': count(columns('/')),
            'zeros': count(if(columns('/') = 0, 1, null)),
            'max_decimals': max(
                case
                    when typeof(columns('/')) = 'BIGINT'
                        then if(columns('/') is null, null, 0)
                    when columns('/') % 1 = 0 then 0
                    when columns('/') % 0.1 = 0 then 1
                    when columns('/') % 0.01 = 0 then 2
                    when columns('/') % 0.001 = 0 then 3
                    when columns('/') is not null then 4
                end
            ),
            'min_value': cast(min(columns('/')) as decimal(38, 4)),
            'max_value': cast(max(columns('/')) as decimal(38, 4)),
            'first_seen_at': min(if(columns('/') is null, null, _fetched_at)),
            'last_seen_at': max(if(columns('/') is null, null, _fetched_at)),
            'example_id': min(if(columns('/') is null, null, example_id)),
        } as "\0",
    from modifier_fields
    group by business_date
),

of_deliveries as (
    select
        business_date,
        {
            'parent_count': count(*),
            'present_count': count(columns('/')),
            'zeros': count(if(columns('/') = 0, 1, null)),
            'max_decimals': max(
                case
                    when typeof(columns('/')) = 'BIGINT'
                        then if(columns('/') is null, null, 0)
                    when columns('/') % 1 = 0 then 0
                    when columns('/') % 0.1 = 0 then 1
                    when columns('/') % 0.01 = 0 then 2
                    when columns('/') % 0.001 = 0 then 3
                    when columns('/') is not null then 4
                end
            ),
            'min_value': cast(min(columns('/')) as decimal(38, 4)),
            'max_value': cast(max(columns('/')) as decimal(38, 4)),
            'first_seen_at': min(if(columns('/') is null, null, _fetched_at)),
            'last_seen_at': max(if(columns('/') is null, null, _fetched_at)),
            'example_id': min(if(columns('/') is null, null, example_id)),
        } as "\0",
    from delivery_fields
    group by business_date
),

measured as (
    select
        business_date,
        field,
        m,
    from of_orders
    unpivot include nulls (m for field in (* exclude (business_date)))

    union all

    select
        business_date,
        field,
        m,
    from of_lines
    unpivot include nulls (m for field in (* exclude (business_date)))

    union all

    select
        business_date,
        field,
        m,
    from of_modifiers
    unpivot include nulls (m for field in (* exclude (business_date)))

    union all

    select
        business_date,
        field,
        m,
    from of_deliveries
    unpivot include nulls (m for field in (* exclude (business_date)))
)

select
    -- keys
    business_date,
    substr(field, 2) as path,
    -- how often
    case field[1] when 'i' then 'integer' when 'm' then 'number' when 'g' then 'number'
        else 'string' end as type,
    m.parent_count as parent_count,
    m.present_count as present_count,
    if(field[1] in ('t', 'h'), m.zeros, null) as empty_count,
    if(field[1] in ('i', 'm'), cast(m.max_decimals as bigint), null) as max_decimals,
    if(field[1] = 't', cast(m.min_value as bigint), null) as min_length,
    if(field[1] = 't', cast(m.max_value as bigint), null) as max_length,
    if(field[1] in ('i', 'm'), m.min_value, null) as min_value,
    if(field[1] in ('i', 'm'), m.max_value, null) as max_value,
    if(field[1] = 'd', make_timestamptz(cast(m.min_value as bigint)), null) as min_timestamp,
    if(field[1] = 'd', make_timestamptz(cast(m.max_value as bigint)), null) as max_timestamp,
    m.first_seen_at as first_seen_at,
    m.last_seen_at as last_seen_at,
    m.example_id as example_id,
from measured
