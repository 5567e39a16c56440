-- The menu's flat rows have the counts and sums that the gate took by itself.
-- severity: blocking
with

groups as (
    select menu_id, count(*) as rows, from core.price_groups group by menu_id
),

prices as (
    select
        menu_id,
        count(*) as rows,
        sum(price) as price_money,
        sum(delivery_price) as delivery_price_money,
    from core.menu_prices
    group by menu_id
),

products as (
    select menu_id, count(*) as rows, from core.products group by menu_id
),

modifiers as (
    select menu_id, count(*) as rows, from core.modifiers group by menu_id
),

edges as (
    select
        menu_id,
        count(*) filter (where parent_type = 'product') as below_products,
        count(*) filter (where parent_type = 'modifier') as below_modifiers,
        sum(price) as money,
    from core.modifier_edges
    group by menu_id
),

-- coalesce: the gate adds nothing for a price that is not there, and neither do we.
compared as (
    select
        latest.menu_id,
        menus.menu_id is null as is_lost,
        unnest([
            {
                'what': 'price_groups',
                'off': coalesce(groups.rows, 0) - validated_price_groups,
            },
            {'what': 'prices', 'off': coalesce(prices.rows, 0) - validated_prices},
            {'what': 'products', 'off': coalesce(products.rows, 0) - validated_products},
            {'what': 'modifiers', 'off': coalesce(modifiers.rows, 0) - validated_modifiers},
            {
                'what': 'product references',
                'off': coalesce(edges.below_products, 0) - validated_product_references,
            },
            {
                'what': 'child references',
                'off': coalesce(edges.below_modifiers, 0) - validated_child_references,
            },
        ]) as counted,
        coalesce(prices.price_money, 0) - validated_price_money as price_off,
        coalesce(prices.delivery_price_money, 0)
            - validated_delivery_price_money as delivery_price_off,
        coalesce(edges.money, 0) - validated_reference_money as reference_off,
    from raw.latest_menus as latest
    left join core.menus as menus on latest.menu_id = menus.menu_id
    left join groups on latest.menu_id = groups.menu_id
    left join prices on latest.menu_id = prices.menu_id
    left join products on latest.menu_id = products.menu_id
    left join modifiers on latest.menu_id = modifiers.menu_id
    left join edges on latest.menu_id = edges.menu_id
)

select distinct
    menu_id as entity_id,
    case
        when is_lost then 'menu'
        when counted.off <> 0 then counted.what
        when price_off <> 0 then 'price'
        when delivery_price_off <> 0 then 'delivery_price'
        else 'reference price'
    end as location,
    case
        when is_lost or counted.off <> 0 then null
        when price_off <> 0 then price_off
        when delivery_price_off <> 0 then delivery_price_off
        else reference_off
    end as residual,
from compared
where
    is_lost
    or counted.off <> 0
    or price_off <> 0
    or delivery_price_off <> 0
    or reference_off <> 0
