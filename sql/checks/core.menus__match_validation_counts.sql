-- A menu's rows have the counts and sums that validation took from its document.
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

-- coalesce: a missing price adds nothing, here as in validation
compared as (
    select
        latest.menu_id,
        menus.menu_id is null as is_lost,
        unnest([
            {
                'name': 'price_groups',
                'difference': coalesce(groups.rows, 0) - validated_price_groups,
            },
            {'name': 'prices', 'difference': coalesce(prices.rows, 0) - validated_prices},
            {'name': 'products', 'difference': coalesce(products.rows, 0) - validated_products},
            {'name': 'modifiers', 'difference': coalesce(modifiers.rows, 0) - validated_modifiers},
            {
                'name': 'product references',
                'difference': coalesce(edges.below_products, 0) - validated_product_references,
            },
            {
                'name': 'child references',
                'difference': coalesce(edges.below_modifiers, 0) - validated_child_references,
            },
        ]) as counted,
        coalesce(prices.price_money, 0) - validated_price_money as price_difference,
        coalesce(prices.delivery_price_money, 0)
            - validated_delivery_price_money as delivery_price_difference,
        coalesce(edges.money, 0) - validated_reference_money as reference_difference,
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
        when counted.difference <> 0 then counted.name
        when price_difference <> 0 then 'price'
        when delivery_price_difference <> 0 then 'delivery_price'
        else 'reference price'
    end as location,
    case
        when is_lost or counted.difference <> 0 then null
        when price_difference <> 0 then price_difference
        when delivery_price_difference <> 0 then delivery_price_difference
        else reference_difference
    end as residual,
from compared
where
    is_lost
    or counted.difference <> 0
    or price_difference <> 0
    or delivery_price_difference <> 0
    or reference_difference <> 0
