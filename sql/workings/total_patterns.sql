-- One row per order that states all six prices: what it holds, and which total forms fit it.
--
-- A step: read audit.order_rules instead.
-- Source: mart.orders and workings.order_components. Orders with an amount of ten billion and more are left out.
--
-- key: order_id
-- scope: order
-- template: patterns
--
-- is_rounded: Whether its parts have more decimals than its total can have.

-- An order whose parts have more decimals than its total can have may differ by one unit.
-- Amounts below ten billion only: all that is done to them stays within 18 digits.
with narrow as materialized (
    select
        orders.order_id,
        smallest_unit(orders.currency, orders.total_price) as unit,
        try_cast(orders.subtotal_price as decimal(14, 4)) as subtotal,
        try_cast(orders.delivery_price as decimal(14, 4)) as delivery,
        try_cast(orders.tip as decimal(14, 4)) as tip,
        try_cast(orders.discount as decimal(14, 4)) as discount,
        try_cast(orders.loyalty_discount as decimal(14, 4)) as loyalty,
        try_cast(orders.total_price as decimal(14, 4)) as total,
        -- no row: no component applies, and nothing is added
        if(components.amount is null, 0, try_cast(components.amount as decimal(14, 4))) as component,
        components.order_id is not null as has_component,
        components.step,
    from mart.orders as orders
    left join (
        select order_id, sum(amount) as amount, arg_max(nullif(step, 0), component_no) as step,
        from workings.order_components group by order_id
    ) as components on orders.order_id = components.order_id
),
rests as (
    select
        *,
        step is null
        and (
            subtotal % unit <> 0
            or delivery % unit <> 0
            or tip % unit <> 0
            or discount % unit <> 0
            or loyalty % unit <> 0
            or component % unit <> 0
        ) as is_rounded,
        case
            when is_rounded then unit
            when step is null then 0
            -- no other total is rounded to it
            when total % step = 0 then cast(0.5 * step as decimal(14, 4))
            else -1
        end as allowance,
        total - component as stated,
    from narrow
    where
        subtotal is not null and delivery is not null and tip is not null and discount is not null
        and loyalty is not null and total is not null and component is not null
),
-- the signs of delivery and tip in turn: as observed, not in it, the other way round
turned as materialized (
    select
        *,
        cast(stated - subtotal - delivery - tip as decimal(15, 4)) as rest_1,
        cast(stated - subtotal - delivery as decimal(15, 4)) as rest_2,
        cast(stated - subtotal - delivery + tip as decimal(15, 4)) as rest_3,
        cast(stated - subtotal - tip as decimal(15, 4)) as rest_4,
        cast(stated - subtotal as decimal(15, 4)) as rest_5,
        cast(stated - subtotal + tip as decimal(15, 4)) as rest_6,
        cast(stated - subtotal + delivery - tip as decimal(15, 4)) as rest_7,
        cast(stated - subtotal + delivery as decimal(15, 4)) as rest_8,
        cast(stated - subtotal + delivery + tip as decimal(15, 4)) as rest_9,
        cast(stated - delivery - tip + discount + loyalty as decimal(15, 4)) as rest_10,
    from rests
)

select
    order_id, is_rounded, 54 as low_count, 31 as high_count,
    if(delivery <> 0, 1, 0)
        | if(tip <> 0, 2, 0)
        | if(discount <> 0, 4, 0)
        | if(loyalty <> 0, 8, 0)
        | if(subtotal <> 0, 16, 0)
        | if(has_component, 32, 0)
        | if(total = 0 and subtotal <> 0, 64, 0) as held,
    signs_that_fit(rest_1, allowance, discount, loyalty)
        | (signs_that_fit(rest_2, allowance, discount, loyalty) << 9)
        | (signs_that_fit(rest_3, allowance, discount, loyalty) << 18)
        | (signs_that_fit(rest_4, allowance, discount, loyalty) << 27)
        | (signs_that_fit(rest_5, allowance, discount, loyalty) << 36)
        | (signs_that_fit(rest_6, allowance, discount, loyalty) << 45) as low,
    signs_that_fit(rest_7, allowance, discount, loyalty)
        | (signs_that_fit(rest_8, allowance, discount, loyalty) << 9)
        | (signs_that_fit(rest_9, allowance, discount, loyalty) << 18)
        -- a total of zero is no sum of the other parts
        | if(total <> 0 and abs(rest_10) <= allowance, 1 << 27, 0)
        | if(total <> 0 and abs(rest_10 + subtotal) <= allowance, 1 << 28, 0)
        -- in force only if settings say so
        | if(stated = 0, 1 << 29, 0)
        | if(abs(stated + stated - rest_1 - discount - loyalty) <= allowance, 1 << 30, 0) as high,
from turned
