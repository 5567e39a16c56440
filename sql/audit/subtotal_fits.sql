-- One row per order that a subtotal rule can be tested on: its sums, and the rules that fit.
--
-- Forms and roundings are numbered as in audit.formula_rules. A set of forms is a mask,
-- bit form_no - 1. Amounts below ten billion alone: all that is done to them stays within
-- 18 digits, which is several times faster than 38.
with

narrow as (
    select
        order_id,
        try_cast(price as decimal(14, 4)) as price,
        try_cast(quantity as decimal(4, 0)) as quantity,
        try_cast(add_once as decimal(14, 4)) as add_once,
        try_cast(add_own as decimal(14, 4)) as add_own,
        try_cast(other_once as decimal(14, 4)) as other_once,
        try_cast(other_own as decimal(14, 4)) as other_own,
        has_modifiers,
        has_own,
        has_other,
        is_whole,
        decimals,
    from audit.order_line_sums
),

lines as (
    select
        *,
        if(quantity <> 1 and price <> 0, 1, 0)
            | if(has_modifiers, 2, 0)
            | if(quantity <> 1 and has_modifiers, 4, 0)
            | if(has_own, 8, 0)
            | if(has_other, 16, 0) as tells,
        is_whole
        and price is not null
        and quantity is not null
        and add_once is not null
        and add_own is not null
        and other_once is not null
        and other_own is not null as is_tested,
    from narrow
),

sums as (
    select
        order_id,
        sum(price) as price_once,
        sum(price * quantity) as price_by_quantity,
        sum(add_once) as add_once,
        sum(add_own) as add_own,
        sum(add_once * quantity) as add_per_unit,
        sum(add_own * quantity) as add_own_per_unit,
        sum(other_once) filter (where has_other) as other_once,
        sum(other_own) filter (where has_other) as other_own,
        sum(other_once * quantity) filter (where has_other) as other_per_unit,
        sum(other_own * quantity) filter (where has_other) as other_own_per_unit,
        bit_or(tells) as tells,
        max(decimals) as decimals,
        count(*) as lines,
    from lines
    group by order_id
    having bool_and(is_tested)
),

tested as (
    select
        sums.order_id,
        sums.lines,
        sums.tells,
        sums.decimals,
        try_cast(sums.price_once as decimal(14, 4)) as price_once,
        try_cast(sums.price_by_quantity as decimal(14, 4)) as price_by_quantity,
        try_cast(sums.add_once as decimal(14, 4)) as add_once,
        try_cast(sums.add_own as decimal(14, 4)) as add_own,
        try_cast(sums.add_per_unit as decimal(14, 4)) as add_per_unit,
        try_cast(sums.add_own_per_unit as decimal(14, 4)) as add_own_per_unit,
        try_cast(coalesce(sums.other_once, 0) as decimal(14, 4)) as other_once,
        try_cast(coalesce(sums.other_own, 0) as decimal(14, 4)) as other_own,
        try_cast(coalesce(sums.other_per_unit, 0) as decimal(14, 4)) as other_per_unit,
        try_cast(coalesce(sums.other_own_per_unit, 0) as decimal(14, 4))
            as other_own_per_unit,
        try_cast(orders.subtotal_price as decimal(14, 4)) as subtotal,
        try_cast(orders.discount as decimal(14, 4)) as discount,
    from sums
    inner join core.orders as orders on sums.order_id = orders.order_id
),

residuals as (
    select
        *,
        tells & 16 <> 0 as has_other,
        add_own_per_unit + other_own_per_unit as own_per_unit,
        add_per_unit + other_per_unit as per_unit,
        add_own + other_own as own,
        add_once + other_once as once,
        subtotal - price_by_quantity as by_quantity_off,
        subtotal - price_once as once_off,
        by_quantity_off + discount as by_quantity_after_off,
        once_off + discount as once_after_off,
    from tested
    where
        -- no sum is too large, subtotal and discount are stated: else one of these is null
        own_per_unit is not null
        and per_unit is not null
        and own is not null
        and once is not null
        and once_off is not null
        and by_quantity_after_off is not null
),

-- Where all modifiers are added, forms that differ by other actions alone fit alike.
fitted as (
    select
        *,
        if(by_quantity_off = 0, 1, 0)
            | if(by_quantity_off = own_per_unit, 2, 0)
            | if(by_quantity_off = per_unit, 4, 0)
            | if(by_quantity_off = own, 8, 0)
            | if(by_quantity_off = once, 16, 0) as by_quantity_adding,
        if(once_off = 0, 1, 0)
            | if(once_off = own_per_unit, 2, 0)
            | if(once_off = per_unit, 4, 0)
            | if(once_off = own, 8, 0)
            | if(once_off = once, 16, 0) as once_adding,
        if(by_quantity_after_off = 0, 1, 0)
            | if(by_quantity_after_off = own_per_unit, 2, 0)
            | if(by_quantity_after_off = per_unit, 4, 0)
            | if(by_quantity_after_off = own, 8, 0)
            | if(by_quantity_after_off = once, 16, 0) as by_quantity_after_adding,
        if(once_after_off = 0, 1, 0)
            | if(once_after_off = own_per_unit, 2, 0)
            | if(once_after_off = per_unit, 4, 0)
            | if(once_after_off = own, 8, 0)
            | if(once_after_off = once, 16, 0) as once_after_adding,
        if(
            has_other,
            if(by_quantity_off = add_own_per_unit, 32, 0)
                | if(by_quantity_off = add_per_unit, 64, 0)
                | if(by_quantity_off = add_own, 128, 0)
                | if(by_quantity_off = add_once, 256, 0)
                | if(by_quantity_off = add_own_per_unit - other_own_per_unit, 512, 0)
                | if(by_quantity_off = add_per_unit - other_per_unit, 1024, 0)
                | if(by_quantity_off = add_own - other_own, 2048, 0)
                | if(by_quantity_off = add_once - other_once, 4096, 0),
            (by_quantity_adding & 30) * (16 + 256)
        ) | by_quantity_adding as by_quantity_fits,
        if(
            has_other,
            if(once_off = add_own_per_unit, 32, 0)
                | if(once_off = add_per_unit, 64, 0)
                | if(once_off = add_own, 128, 0)
                | if(once_off = add_once, 256, 0)
                | if(once_off = add_own_per_unit - other_own_per_unit, 512, 0)
                | if(once_off = add_per_unit - other_per_unit, 1024, 0)
                | if(once_off = add_own - other_own, 2048, 0)
                | if(once_off = add_once - other_once, 4096, 0),
            (once_adding & 30) * (16 + 256)
        ) | once_adding as once_fits,
        if(
            has_other,
            if(by_quantity_after_off = add_own_per_unit, 32, 0)
                | if(by_quantity_after_off = add_per_unit, 64, 0)
                | if(by_quantity_after_off = add_own, 128, 0)
                | if(by_quantity_after_off = add_once, 256, 0)
                | if(by_quantity_after_off = add_own_per_unit - other_own_per_unit, 512, 0)
                | if(by_quantity_after_off = add_per_unit - other_per_unit, 1024, 0)
                | if(by_quantity_after_off = add_own - other_own, 2048, 0)
                | if(by_quantity_after_off = add_once - other_once, 4096, 0),
            (by_quantity_after_adding & 30) * (16 + 256)
        ) | by_quantity_after_adding as by_quantity_after_fits,
        if(
            has_other,
            if(once_after_off = add_own_per_unit, 32, 0)
                | if(once_after_off = add_per_unit, 64, 0)
                | if(once_after_off = add_own, 128, 0)
                | if(once_after_off = add_once, 256, 0)
                | if(once_after_off = add_own_per_unit - other_own_per_unit, 512, 0)
                | if(once_after_off = add_per_unit - other_per_unit, 1024, 0)
                | if(once_after_off = add_own - other_own, 2048, 0)
                | if(once_after_off = add_once - other_once, 4096, 0),
            (once_after_adding & 30) * (16 + 256)
        ) | once_after_adding as once_after_fits,
    from residuals
)

select
    -- keys
    order_id,
    -- what it can tell
    cast(
        tells
        | if(discount <> 0, 32, 0)
        | 64 * greatest(
            decimals,
            case
                when discount = cast(discount as decimal(13, 2)) then case
                    when discount <> cast(discount as decimal(12, 1)) then 2
                    when discount <> cast(discount as decimal(11, 0)) then 1
                    else 0
                end
                when discount = cast(discount as decimal(14, 3)) then 3
                else 4
            end
        ) as bigint
    ) as tells,
    -- which forms give its subtotal, unrounded
    cast(by_quantity_fits as bigint)
        | (cast(once_fits as bigint) << 13)
        | (cast(by_quantity_after_fits as bigint) << 26)
        | (cast(once_after_fits as bigint) << 39) as fits,
    -- what lines add up to
    lines,
    price_once,
    price_by_quantity,
    add_once,
    add_own,
    add_per_unit,
    add_own_per_unit,
    other_once,
    other_own,
    other_per_unit,
    other_own_per_unit,
    subtotal,
    discount,
from fitted
