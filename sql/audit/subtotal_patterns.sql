-- One row per order whose lines and subtotal can be compared: what it holds, which forms fit.
--
-- If prices have more decimals than the subtotal can have, a unit for each unit sold may
-- differ. Amounts below ten billion only: all of it stays within 18 digits.
with

lines as (
    select
        * exclude (product_id, name),
        try_cast(price as decimal(14, 4)) as narrow_price,
        try_cast(quantity as decimal(4, 0)) as units,
        try_cast(add_once as decimal(14, 4)) as narrow_add_once,
        try_cast(add_own as decimal(14, 4)) as narrow_add_own,
        try_cast(other_once as decimal(14, 4)) as narrow_other_once,
        try_cast(other_own as decimal(14, 4)) as narrow_other_own,
    from audit.order_line_sums
),

sums as (
    select
        order_id,
        sum(narrow_price) as price_once,
        sum(narrow_price * units) as price_by_quantity,
        sum(narrow_add_once) as add_once,
        sum(narrow_add_own) as add_own,
        sum(narrow_add_once * units) as add_unit,
        sum(narrow_add_own * units) as add_own_unit,
        coalesce(sum(narrow_other_once) filter (where has_other), 0) as other_once, -- none: zero
        coalesce(sum(narrow_other_own) filter (where has_other), 0) as other_own,
        coalesce(sum(narrow_other_once * units) filter (where has_other), 0) as other_unit,
        coalesce(sum(narrow_other_own * units) filter (where has_other), 0) as other_own_unit,
        max(decimals) as decimals,
        cast(sum(greatest(abs(units), 1)) as decimal(10, 0)) as units,
        bool_or(quantity <> 1 and price <> 0) as has_quantity,
        bool_or(has_modifiers) as has_modifiers,
        bool_or(quantity <> 1 and has_modifiers) as has_modifiers_on_quantity,
        bool_or(has_own) as has_own,
        bool_or(has_other) as has_other,
    from lines
    group by order_id
    having bool_and(
        is_whole
        and narrow_price is not null
        and lines.units is not null
        and narrow_add_once is not null
        and narrow_add_own is not null
        and narrow_other_once is not null
        and narrow_other_own is not null
    )
),

tested as materialized (
    select
        sums.order_id,
        has_quantity,
        has_modifiers,
        has_modifiers_on_quantity,
        has_own,
        has_other,
        try_cast(orders.discount as decimal(14, 4)) as discount,
        smallest_unit(orders.currency, orders.subtotal_price) as unit,
        smallest_unit(orders.currency, orders.subtotal_price + orders.discount) as unit_less,
        smallest_unit(orders.currency, orders.subtotal_price - orders.discount) as unit_more,
        sums.decimals,
        sums.units,
        orders.subtotal_price = 0 and price_once <> 0 as is_stated_zero,
        try_cast(orders.subtotal_price as decimal(14, 4)) as subtotal,
        try_cast(price_once as decimal(14, 4)) as price_once,
        try_cast(price_by_quantity as decimal(14, 4)) as price_by_quantity,
        struct_pack(
            all_own_unit := try_cast(add_own_unit + other_own_unit as decimal(14, 4)),
            all_unit := try_cast(add_unit + other_unit as decimal(14, 4)),
            all_own := try_cast(add_own + other_own as decimal(14, 4)),
            all_once := try_cast(add_once + other_once as decimal(14, 4)),
            add_own_unit := try_cast(add_own_unit as decimal(14, 4)),
            add_unit := try_cast(add_unit as decimal(14, 4)),
            add_own := try_cast(add_own as decimal(14, 4)),
            add_once := try_cast(add_once as decimal(14, 4)),
            less_own_unit := try_cast(add_own_unit - other_own_unit as decimal(14, 4)),
            less_unit := try_cast(add_unit - other_unit as decimal(14, 4)),
            less_own := try_cast(add_own - other_own as decimal(14, 4)),
            less_once := try_cast(add_once - other_once as decimal(14, 4))
        ) as added,
    from sums
    inner join mart.orders as orders on sums.order_id = orders.order_id
),

-- no sum is too large, subtotal and discount are stated: else one of these is null
rests as (
    select
        *,
        [1, 0.1, 0.01, 0.001, 0.0001][decimals + 1] as unit_of_lines,
        if(unit > unit_of_lines or discount % unit <> 0, units * unit, 0) as allowance,
        greatest(allowance, if(unit_less > unit_of_lines, units * unit_less, 0))
            as allowance_less,
        greatest(allowance, if(unit_more > unit_of_lines, units * unit_more, 0))
            as allowance_more,
        greatest(allowance_less, allowance_more) > 0 as is_rounded,
        subtotal - price_by_quantity as rest,
        subtotal - price_once as rest_once,
    from tested
    where
        discount is not null
        and subtotal is not null
        and price_once is not null
        and price_by_quantity is not null
        and added.all_own_unit is not null
        and added.less_own_unit is not null
),

fitted as materialized (
    select
        *,
        modifiers_that_fit(rest, allowance, added)
            | (modifiers_that_fit(rest_once, allowance, added) << 13)
            | (modifiers_that_fit(rest + discount, allowance_less, added) << 26)
            | (modifiers_that_fit(rest_once + discount, allowance_less, added) << 39) as low,
        modifiers_that_fit(rest - discount, allowance_more, added)
            | (modifiers_that_fit(rest_once - discount, allowance_more, added) << 13) as high,
    from rests
),

-- written out once for all orders that answer alike: character form_no is 1 where it fits
written as (
    select
        low,
        high,
        reverse(lpad(bin(low), 52, '0')) || reverse(lpad(bin(high), 26, '0')) as fits,
    from (select distinct low, high from fitted)
)

select
    -- keys
    fitted.order_id,
    -- what it can test, and which forms give its subtotal
    concat(
        if(has_quantity, 1, 0),
        if(has_modifiers, 1, 0),
        if(has_modifiers_on_quantity, 1, 0),
        if(has_own, 1, 0),
        if(has_other, 1, 0),
        if(discount <> 0, 1, 0),
        if(is_stated_zero, 1, 0)
    ) as holds,
    written.fits,
    fitted.is_rounded,
from fitted
inner join written
    on fitted.low = written.low
    and fitted.high = written.high
