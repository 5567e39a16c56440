-- One row per order whose lines and subtotal can be compared: what it holds, and which forms fit it.
--
-- A step: read audit.order_rules instead.
-- Source: workings.order_line_sums, mart.orders and workings.order_components. Orders without lines, without a subtotal or a discount, with a price
-- or quantity not stated, an amount of ten billion and more or ten thousand of one product are left out.
--
-- key: order_id
-- scope: order
-- template: patterns
--
-- is_rounded: Whether its prices have more decimals than its subtotal can have.

-- If prices have more decimals than the subtotal can have, a unit for each unit sold may
-- differ. Amounts below ten billion only: all of it stays within 18 digits.
with lines as (
    select
        * exclude (product_id, name),
        try_cast(price as decimal(14, 4)) as narrow_price,
        try_cast(quantity as decimal(4, 0)) as units,
        try_cast(add_once as decimal(14, 4)) as narrow_add_once,
        try_cast(add_own as decimal(14, 4)) as narrow_add_own,
        try_cast(other_once as decimal(14, 4)) as narrow_other_once,
        try_cast(other_own as decimal(14, 4)) as narrow_other_own,
    from workings.order_line_sums
),
-- sums in 17 digits: two of them, added up, stay within 18
sums as (
    select
        order_id,
        try_cast(sum(narrow_price) as decimal(14, 4)) as price_once,
        try_cast(sum(narrow_price * units) as decimal(14, 4)) as price_by_quantity,
        try_cast(sum(narrow_add_once) as decimal(17, 4)) as add_once,
        try_cast(sum(narrow_add_own) as decimal(17, 4)) as add_own,
        try_cast(sum(narrow_add_once * units) as decimal(17, 4)) as add_unit,
        try_cast(sum(narrow_add_own * units) as decimal(17, 4)) as add_own_unit,
        try_cast(sum(narrow_other_once) as decimal(17, 4)) as other_once,
        try_cast(sum(narrow_other_own) as decimal(17, 4)) as other_own,
        try_cast(sum(narrow_other_once * units) as decimal(17, 4)) as other_unit,
        try_cast(sum(narrow_other_own * units) as decimal(17, 4)) as other_own_unit,
        max(decimals) as decimals,
        cast(sum(greatest(abs(units), 1)) as decimal(10, 0)) as units,
        bit_or(parts_held(lines)) as held,
    from lines
    group by order_id
    having bool_and(
        is_whole
        and narrow_price is not null and lines.units is not null and narrow_add_once is not null
        and narrow_add_own is not null and narrow_other_once is not null
        and narrow_other_own is not null
    )
),
factors as (
    select
        order_id,
        if(count(*) = count(amount), arg_max(price_factor, component_no), null) as factor,
    from workings.order_components where price_factor is not null group by order_id
),
stated as (
    select
        orders.order_id, orders.currency, orders.subtotal_price,
        try_cast(orders.discount as decimal(14, 4)) as discount,
        if(factors.order_id is null, 1, factors.factor) as factor,
        -- as the lines' prices make it
        try_cast(
            if(factors.order_id is null, orders.subtotal_price, subtotal_price * factor) as decimal(14, 4)
        ) as subtotal,
    from mart.orders as orders left join factors using (order_id)
),
tested as materialized (
    select
        sums.order_id, decimals, units, discount, subtotal, price_once, price_by_quantity,
        held | if(discount <> 0, 32, 0) | if(subtotal = 0 and price_once <> 0, 64, 0) as held,
        smallest_unit(currency, subtotal_price) as unit,
        abs(factor) as factor,
        smallest_unit(currency, subtotal + discount) as unit_less,
        smallest_unit(currency, subtotal - discount) as unit_more,
        try_cast(add_own_unit + other_own_unit as decimal(14, 4)) as all_own_unit,
        try_cast(add_unit + other_unit as decimal(14, 4)) as all_unit,
        try_cast(add_own + other_own as decimal(14, 4)) as all_own,
        try_cast(add_once + other_once as decimal(14, 4)) as all_once,
        try_cast(add_own_unit as decimal(14, 4)) as add_own_unit,
        try_cast(add_unit as decimal(14, 4)) as add_unit,
        try_cast(add_own as decimal(14, 4)) as add_own,
        try_cast(add_once as decimal(14, 4)) as add_once,
        try_cast(add_own_unit - other_own_unit as decimal(14, 4)) as less_own_unit,
        try_cast(add_unit - other_unit as decimal(14, 4)) as less_unit,
        try_cast(add_own - other_own as decimal(14, 4)) as less_own,
        try_cast(add_once - other_once as decimal(14, 4)) as less_once,
    from sums inner join stated using (order_id)
),
-- no sum is too large, subtotal and discount are stated: else one of these is null
rests as (
    select
        *,
        held & 16 = 0 as is_only_added,
        [1, 0.1, 0.01, 0.001, 0.0001][decimals + 1] as unit_of_lines,
        if(unit > unit_of_lines or discount % unit <> 0, units * unit, 0)
            + if(factor = 1, 0, cast(factor * unit as decimal(14, 4))) as allowance,
        greatest(allowance, if(unit_less > unit_of_lines, units * unit_less, 0)) as allowance_less,
        greatest(allowance, if(unit_more > unit_of_lines, units * unit_more, 0)) as allowance_more,
        greatest(allowance_less, allowance_more) > 0 as is_rounded,
        subtotal - price_by_quantity as rest,
        subtotal - price_once as rest_once,
    from tested
    where
        discount is not null and subtotal is not null and price_once is not null
        and price_by_quantity is not null and all_own_unit is not null and less_own_unit is not null
)

select
    order_id, held, is_rounded, 52 as low_count, 26 as high_count,
    modifiers_that_fit(rest, allowance, rests)
        | (modifiers_that_fit(rest_once, allowance, rests) << 13)
        | (modifiers_that_fit(rest + discount, allowance_less, rests) << 26)
        | (modifiers_that_fit(rest_once + discount, allowance_less, rests) << 39) as low,
    modifiers_that_fit(rest - discount, allowance_more, rests)
        | (modifiers_that_fit(rest_once - discount, allowance_more, rests) << 13) as high,
from rests
