-- One row per order and component of the settings that is in its prices.
--
-- Source: mart.orders and [[formula.component]]; of closed days the components that the close was made with.
-- Caveats: null where the base, or a field that its condition asks for, is not stated; the order's total is then indeterminate. Not rounded: the total is.
--
-- key: order_id, component_no
-- scope: order
--
-- component_no BIGINT >= 1: The component's place in the settings, from 1.
-- name not null: The component's name in the settings.
-- amount DECIMAL(38,8) null: What it adds to the total: 0 for a price_factor or a step.
-- price_factor DECIMAL(18,4) null: How many times the subtotal the lines' prices are: 1.08 where they include 8% that it leaves out, -1 where it states the negative.
-- step DECIMAL(18,4) null: The total is rounded to multiples of it, half up.

-- A component is a constant, or a share of a base. All decimals of a share are kept: the
-- total is rounded, not its parts. A charge of a later release is one, too, from 1001 on.
with components as (
    select cast(null as bigint) as close_entry_no, * from raw.formula_components
    union all
    select * from raw.closed_components
)

select
    orders.order_id,
    components.component_no,
    -- what it is
    components.name,
    -- money
    cast(
        if(meets(components.conditions, orders), 1, null) * coalesce(
            components.amount,
            components.share * cast(base_of(orders, components.base) as decimal(22, 4)),
            if(components.share is null, 0, null)
        ) as decimal(38, 8)
    ) as amount,
    -- what it does to the subtotal and the total, if it applies: amount says
    components.price_factor,
    components.step,
from mart.orders as orders
left join audit.order_closes as closes using (order_id)
inner join components
    on closes.close_entry_no is not distinct from components.close_entry_no
    and is_in_scope(components, orders)
    and meets(components.conditions, orders) is distinct from false
union all select order_id, $no, '$label', ${sign}cast($optional as decimal(38, 8)), null, null, from mart.orders where $optional <> 0
