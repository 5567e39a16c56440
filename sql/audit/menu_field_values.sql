-- One row per field of the menu document.
--
-- i/ integer, m/ money, t/ length of a text, d/ microseconds of a time, and of what the
-- vault holds whether it is there and not empty: h/ a text, g/ a number
with

menus as (
    select
        menu_id,
        name,
        _fetched_at,
    from core.menus
),

fields as (
    select
        '/menu' as parent,
        menus.menu_id as example_id,
        menus._fetched_at,
        menus.menu_id as "i/menu/id",
        length(menus.name) as "t/menu/name",
    from menus

    union all by name

    select
        '/menu/price_groups/*' as parent,
        menus.menu_id as example_id,
        menus._fetched_at,
        groups.price_group_id as "i/menu/price_groups/*/id",
        length(groups.name) as "t/menu/price_groups/*/name",
        groups.position as "i/menu/price_groups/*/position",
    from core.price_groups as groups
    inner join menus on groups.menu_id = menus.menu_id

    union all by name

    select
        '/menu/price_groups/*/prices/*' as parent,
        menus.menu_id as example_id,
        menus._fetched_at,
        prices.price_id as "i/menu/price_groups/*/prices/*/price_id",
        prices.product_id as "i/menu/price_groups/*/prices/*/product_id",
        prices.position as "i/menu/price_groups/*/prices/*/position",
        length(prices.channel) as "t/menu/price_groups/*/prices/*/channel",
        prices.price as "m/menu/price_groups/*/prices/*/price",
        prices.delivery_price as "m/menu/price_groups/*/prices/*/delivery_price",
    from core.menu_prices as prices
    inner join menus on prices.menu_id = menus.menu_id

    union all by name

    select
        '/products/*' as parent,
        menus.menu_id as example_id,
        menus._fetched_at,
        length(products.name) as "t/products/*/name",
        length(products.description) as "t/products/*/description",
        length(products.dispatch_method) as "t/products/*/dispatch_method",
    from core.products as products
    inner join menus on products.menu_id = menus.menu_id

    union all by name

    select
        '/modifiers/*' as parent,
        menus.menu_id as example_id,
        menus._fetched_at,
        length(modifiers.name) as "t/modifiers/*/name",
        length(modifiers.description) as "t/modifiers/*/description",
    from core.modifiers as modifiers
    inner join menus on modifiers.menu_id = menus.menu_id

    union all by name

    select
        '/products/*/modifiers/*' as parent,
        menus.menu_id as example_id,
        menus._fetched_at,
        edges.modifier_id as "i/products/*/modifiers/*/modifier_id",
        edges.position as "i/products/*/modifiers/*/position",
        edges.price as "m/products/*/modifiers/*/price",
    from core.modifier_edges as edges
    inner join menus on edges.menu_id = menus.menu_id
    where edges.parent_type = 'product'

    union all by name

    select
        '/modifiers/*/children/*' as parent,
        menus.menu_id as example_id,
        menus._fetched_at,
        edges.modifier_id as "i/modifiers/*/children/*/modifier_id",
        edges.position as "i/modifiers/*/children/*/position",
        edges.price as "m/modifiers/*/children/*/price",
    from core.modifier_edges as edges
    inner join menus on edges.menu_id = menus.menu_id
    where edges.parent_type = 'modifier'
),

measured as (
    select
        parent,
        {
            'parent_count': count(*),
            'present_count': count(columns('/')),
            'zeros': count(if(columns('/') = 0, 1, null)),
            'max_decimals': max(
                case
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
    from fields
    group by parent
),

fields_measured as (
    select
        parent,
        field,
        m,
    from measured
    unpivot (m for field in (* exclude (parent)))
    where regexp_replace(substr(field, 2), '/[^/]*$', '') = parent
)

select
    -- keys
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
    if(field[1] = 'd', make_timestamptz(cast(m.min_value as bigint)), null)
        as min_timestamp,
    if(field[1] = 'd', make_timestamptz(cast(m.max_value as bigint)), null)
        as max_timestamp,
    m.first_seen_at as first_seen_at,
    m.last_seen_at as last_seen_at,
    m.example_id as example_id,
from fields_measured
