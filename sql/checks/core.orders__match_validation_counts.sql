-- An order's rows have the counts and sums that validation took from its document.
-- severity: blocking
with

lines as (
    select
        order_id,
        count(*) as lines,
        sum(price) as line_money,
    from core.order_lines
    group by order_id
),

modifiers as (
    select
        order_id,
        count(*) as modifiers,
        sum(price) as modifier_money,
    from core.order_line_modifiers
    group by order_id
),

deliveries as (
    select order_id, count(*) as deliveries, from core.order_deliveries group by order_id
),

-- coalesce: a missing price adds nothing, here as in validation
flat as (
    select
        raw.latest_orders.order_id,
        coalesce(lines.lines, 0) - validated_lines as line_count_difference,
        coalesce(modifiers.modifiers, 0) - validated_modifiers as modifier_count_difference,
        coalesce(deliveries.deliveries, 0) - validated_deliveries as delivery_count_difference,
        -- wider than one field: the sum of two 14-digit amounts must not overflow
        cast(coalesce(orders.subtotal_price, 0) as decimal(38, 4))
            + coalesce(orders.delivery_price, 0)
            + coalesce(orders.tip, 0)
            + coalesce(orders.discount, 0)
            + coalesce(orders.loyalty_discount, 0)
            + coalesce(orders.total_price, 0)
            - validated_order_money as order_money_difference,
        coalesce(lines.line_money, 0) - validated_line_money as line_money_difference,
        coalesce(modifiers.modifier_money, 0) - validated_modifier_money as modifier_money_difference,
        orders.order_id is null as is_lost,
    from raw.latest_orders
    left join core.orders as orders on orders.order_id = raw.latest_orders.order_id
    left join lines on lines.order_id = raw.latest_orders.order_id
    left join modifiers on modifiers.order_id = raw.latest_orders.order_id
    left join deliveries on deliveries.order_id = raw.latest_orders.order_id
)

select
    order_id as entity_id,
    case
        when is_lost then 'order'
        when line_count_difference <> 0 then 'lines'
        when modifier_count_difference <> 0 then 'modifiers'
        when delivery_count_difference <> 0 then 'deliveries'
        when order_money_difference <> 0 then 'order money'
        when line_money_difference <> 0 then 'line money'
        else 'modifier money'
    end as location,
    cast(
        case
            when
                is_lost
                or line_count_difference <> 0
                or modifier_count_difference <> 0
                or delivery_count_difference <> 0
                then null
            when order_money_difference <> 0 then order_money_difference
            when line_money_difference <> 0 then line_money_difference
            else modifier_money_difference
        end as decimal(38, 4)
    ) as residual,
from flat
where
    is_lost
    or line_count_difference <> 0
    or modifier_count_difference <> 0
    or delivery_count_difference <> 0
    or order_money_difference <> 0
    or line_money_difference <> 0
    or modifier_money_difference <> 0
