-- One row per order and component of the settings that is in its prices.
--
-- Source: mart.orders, workings.order_line_sums and [[formula.component]]; of closed days the components that the close was made with.
-- Caveats: null where the base, or a field that its condition asks for, is not stated; the order's total is then indeterminate. Unless the component says how it is rounded, the total alone is. A component by line is null where the lines do not add up to the subtotal, or do so in two ways that differ in it.
--
-- key: order_id, component_no
-- scope: order
--
-- component_no BIGINT >= 1: The component's place in the settings, from 1.
-- name not null: The component's name in the settings.
-- amount DECIMAL(38,8) null: What it adds to the total: 0 for a price_factor or a step.
-- price_factor DECIMAL(18,4) null: How many times the subtotal the lines' prices are: 1.08 where they include 8% that it leaves out, -1 where it states the negative.
-- step DECIMAL(18,4) null: The total is rounded to multiples of it, half up.

-- A component is a constant, or a share of a base. All decimals of a share are kept unless it is rounded half up, by
-- order or by line. A charge of a later release is one, too, from 1001 on.
with components as (
    select cast(null as bigint) as close_entry_no, * from raw.formula_components
    union all
    select * from raw.closed_components
),
-- an amount of each line, in each way to read it; those count that add up to the subtotal
lines as (
    select
        order_id, line_no,
        unnest(range(7)) as form_no,
        unnest(readings_of(sums)) as amount,
    from workings.order_line_sums as sums
),
-- parts and units are columns: a macro repeats what it is given
line_parts as (
    select
        lines.order_id, components.component_no, lines.form_no, lines.amount, orders.subtotal_price,
        cast(components.share * cast(lines.amount as decimal(22, 4)) as decimal(38, 8)) as part,
        smallest_unit(orders.currency, orders.total_price) as unit,
    from lines
    inner join mart.orders as orders using (order_id)
    left join workings.order_closes as closes using (order_id)
    inner join components
        on components.rounded_per = 'line'
        and closes.close_entry_no is not distinct from components.close_entry_no
),
read_lines as (
    select order_id, component_no, sum(rounded(part, 'half_up', unit)) as amount,
    from line_parts
    group by order_id, component_no, form_no
    having sum(line_parts.amount) = any_value(subtotal_price) and count(*) = count(line_parts.amount)
),
by_line as (
    select order_id, component_no, if(min(amount) = max(amount), min(amount), null) as amount,
    from read_lines group by order_id, component_no
),
order_parts as (
    select
        orders.order_id, components.component_no, components.name, components.amount, components.share,
        components.rounded_per, components.price_factor, components.step,
        meets(components.conditions, orders) as is_met,
        cast(components.share * cast(base_of(orders, components.base) as decimal(22, 4)) as decimal(38, 8)) as part,
        smallest_unit(orders.currency, orders.total_price) as unit,
    from mart.orders as orders
    left join workings.order_closes as closes using (order_id)
    inner join components
        on closes.close_entry_no is not distinct from components.close_entry_no
        and is_in_scope(components, orders)
)

select
    parts.order_id, parts.component_no, parts.name,
    cast(
        if(parts.is_met, 1, null) * case
            when parts.amount is not null then parts.amount
            when parts.share is null then 0
            when parts.rounded_per = 'line' then by_line.amount
            when parts.rounded_per = 'order' then rounded(parts.part, 'half_up', parts.unit)
            when parts.rounded_per <> '' then rounded(parts.part, parts.rounded_per, parts.unit)
            else parts.part
        end as decimal(38, 8)
    ) as amount,
    -- what it does to the subtotal and the total, if it applies: amount says
    parts.price_factor, parts.step,
from order_parts as parts
left join by_line on parts.order_id = by_line.order_id and parts.component_no = by_line.component_no
where parts.is_met is distinct from false
union all select order_id, $no, '$label', ${sign}cast($optional as decimal(38, 8)), null, null, from mart.orders where $optional <> 0
