-- One row per order and component of the settings that is in its total.
--
-- A component is a constant, or a share of a base. All decimals of a share are kept: the
-- total is rounded, not its parts.
select
    -- keys
    orders.order_id,
    components.component_no,
    -- what it is
    components.name,
    -- money
    cast(
        coalesce(
            components.amount,
            components.share * cast(
                case components.base
                    when 'subtotal' then orders.subtotal_price
                    when 'subtotal_less_discount'
                        then orders.subtotal_price - orders.discount
                    when 'delivery' then orders.delivery_price
                    when 'tip' then orders.tip
                    when 'discount' then orders.discount
                    when 'loyalty' then orders.loyalty_discount
                end as decimal(22, 4)
            )
        ) as decimal(38, 8)
    ) as amount,
from mart.orders as orders
inner join raw.formula_components as components on is_in_scope(components, orders)
