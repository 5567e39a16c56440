-- The order's flat rows have the counts and sums that the gate took from the document by itself.
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

-- coalesce: the gate adds nothing for a price that is not there, and neither do we.
flat as (
    select
        raw.latest_orders.order_id,
        coalesce(lines.lines, 0) - validated_lines as subtotal_break,
        coalesce(modifiers.modifiers, 0) - validated_modifiers as modifiers_off,
        coalesce(deliveries.deliveries, 0) - validated_deliveries as deliveries_off,
        -- wider than a part: two of 14 digits must not overflow
        cast(coalesce(orders.subtotal_price, 0) as decimal(38, 4))
            + coalesce(orders.delivery_price, 0)
            + coalesce(orders.tip, 0)
            + coalesce(orders.discount, 0)
            + coalesce(orders.loyalty_discount, 0)
            + coalesce(orders.total_price, 0)
            - validated_order_money as order_money_off,
        coalesce(lines.line_money, 0) - validated_line_money as line_money_off,
        coalesce(modifiers.modifier_money, 0) - validated_modifier_money as modifier_money_off,
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
        when subtotal_break <> 0 then 'lines'
        when modifiers_off <> 0 then 'modifiers'
        when deliveries_off <> 0 then 'deliveries'
        when order_money_off <> 0 then 'order money'
        when line_money_off <> 0 then 'line money'
        else 'modifier money'
    end as location,
    cast(
        case
            when is_lost or subtotal_break <> 0 or modifiers_off <> 0 or deliveries_off <> 0
                then null
            when order_money_off <> 0 then order_money_off
            when line_money_off <> 0 then line_money_off
            else modifier_money_off
        end as decimal(38, 4)
    ) as residual,
from flat
where
    is_lost
    or subtotal_break <> 0
    or modifiers_off <> 0
    or deliveries_off <> 0
    or order_money_off <> 0
    or line_money_off <> 0
    or modifier_money_off <> 0
