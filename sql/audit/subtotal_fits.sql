-- One row per order whose lines state all they need: the rules that give its subtotal.
--
-- Forms and roundings are numbered as in audit.formula_rules. A set of forms is a mask,
-- bit form_no - 1.
with

sums as (
    select
        sums.order_id,
        sums.price_once,
        sums.price_by_quantity,
        sums.add_once,
        sums.add_own,
        sums.add_per_unit,
        sums.add_own_per_unit,
        sums.other_once,
        sums.other_own,
        sums.other_per_unit,
        sums.other_own_per_unit,
        -- of the prices and of the discount, which some rules take off, then round
        greatest(
            sums.decimals,
            case
                when orders.discount = trunc(orders.discount) then 0
                when orders.discount = trunc(orders.discount, 1) then 1
                when orders.discount = trunc(orders.discount, 2) then 2
                when orders.discount = trunc(orders.discount, 3) then 3
                else 4
            end
        ) as decimals,
        cast(orders.subtotal_price as decimal(38, 4)) as subtotal_price,
        cast(orders.discount as decimal(38, 4)) as discount,
        if(sums.has_quantity, 1, 0)
            + if(sums.has_modifiers, 2, 0)
            + if(sums.has_unit, 4, 0)
            + if(sums.has_own, 8, 0)
            + if(sums.has_other, 16, 0) as line_tells,
    from audit.order_sums as sums
    inner join core.orders as orders on sums.order_id = orders.order_id
    where
        sums.is_whole
        and orders.subtotal_price is not null
        and orders.discount is not null
),

residuals as (
    select
        *,
        add_own_per_unit + other_own_per_unit as own_per_unit,
        add_per_unit + other_per_unit as per_unit,
        add_own + other_own as own,
        add_once + other_once as once,
        add_own_per_unit - other_own_per_unit as less_own_per_unit,
        add_per_unit - other_per_unit as less_per_unit,
        add_own - other_own as less_own,
        add_once - other_once as less_once,
        subtotal_price - price_by_quantity as by_quantity_off,
        subtotal_price - price_once as once_off,
        by_quantity_off + discount as by_quantity_after_off,
        once_off + discount as once_after_off,
    from sums
),

unrounded as (
    select
        order_id,
        decimals,
        line_tells + if(discount <> 0, 32, 0) + 64 * decimals as tells,
        cast(by_quantity_off = 0 as bigint)
        | (cast(by_quantity_off = own_per_unit as bigint) << 1)
        | (cast(by_quantity_off = per_unit as bigint) << 2)
        | (cast(by_quantity_off = own as bigint) << 3)
        | (cast(by_quantity_off = once as bigint) << 4)
        | (cast(by_quantity_off = add_own_per_unit as bigint) << 5)
        | (cast(by_quantity_off = add_per_unit as bigint) << 6)
        | (cast(by_quantity_off = add_own as bigint) << 7)
        | (cast(by_quantity_off = add_once as bigint) << 8)
        | (cast(by_quantity_off = less_own_per_unit as bigint) << 9)
        | (cast(by_quantity_off = less_per_unit as bigint) << 10)
        | (cast(by_quantity_off = less_own as bigint) << 11)
        | (cast(by_quantity_off = less_once as bigint) << 12)
        | (cast(once_off = 0 as bigint) << 13)
        | (cast(once_off = own_per_unit as bigint) << 14)
        | (cast(once_off = per_unit as bigint) << 15)
        | (cast(once_off = own as bigint) << 16)
        | (cast(once_off = once as bigint) << 17)
        | (cast(once_off = add_own_per_unit as bigint) << 18)
        | (cast(once_off = add_per_unit as bigint) << 19)
        | (cast(once_off = add_own as bigint) << 20)
        | (cast(once_off = add_once as bigint) << 21)
        | (cast(once_off = less_own_per_unit as bigint) << 22)
        | (cast(once_off = less_per_unit as bigint) << 23)
        | (cast(once_off = less_own as bigint) << 24)
        | (cast(once_off = less_once as bigint) << 25)
        | (cast(by_quantity_after_off = 0 as bigint) << 26)
        | (cast(by_quantity_after_off = own_per_unit as bigint) << 27)
        | (cast(by_quantity_after_off = per_unit as bigint) << 28)
        | (cast(by_quantity_after_off = own as bigint) << 29)
        | (cast(by_quantity_after_off = once as bigint) << 30)
        | (cast(by_quantity_after_off = add_own_per_unit as bigint) << 31)
        | (cast(by_quantity_after_off = add_per_unit as bigint) << 32)
        | (cast(by_quantity_after_off = add_own as bigint) << 33)
        | (cast(by_quantity_after_off = add_once as bigint) << 34)
        | (cast(by_quantity_after_off = less_own_per_unit as bigint) << 35)
        | (cast(by_quantity_after_off = less_per_unit as bigint) << 36)
        | (cast(by_quantity_after_off = less_own as bigint) << 37)
        | (cast(by_quantity_after_off = less_once as bigint) << 38)
        | (cast(once_after_off = 0 as bigint) << 39)
        | (cast(once_after_off = own_per_unit as bigint) << 40)
        | (cast(once_after_off = per_unit as bigint) << 41)
        | (cast(once_after_off = own as bigint) << 42)
        | (cast(once_after_off = once as bigint) << 43)
        | (cast(once_after_off = add_own_per_unit as bigint) << 44)
        | (cast(once_after_off = add_per_unit as bigint) << 45)
        | (cast(once_after_off = add_own as bigint) << 46)
        | (cast(once_after_off = add_once as bigint) << 47)
        | (cast(once_after_off = less_own_per_unit as bigint) << 48)
        | (cast(once_after_off = less_per_unit as bigint) << 49)
        | (cast(once_after_off = less_own as bigint) << 50)
        | (cast(once_after_off = less_once as bigint) << 51)
            as fits,
    from residuals
)

select
    -- keys
    unrounded.order_id,
    -- what it can tell
    cast(unrounded.tells as bigint) as tells,
    -- which rules give its subtotal
    if(
        rounded.order_id is null,
        [fits],
        -- rounding to as many decimals as there are changes nothing
        [
            fits,
            coalesce(fits_2, if(decimals <= 0, fits, 0)),
            coalesce(fits_3, if(decimals <= 0, fits, 0)),
            coalesce(fits_4, if(decimals <= 1, fits, 0)),
            coalesce(fits_5, if(decimals <= 1, fits, 0)),
            coalesce(fits_6, if(decimals <= 2, fits, 0)),
            coalesce(fits_7, if(decimals <= 2, fits, 0)),
            coalesce(fits_8, if(decimals <= 3, fits, 0)),
            coalesce(fits_9, if(decimals <= 3, fits, 0)),
            coalesce(fits_10, if(decimals <= 0, fits, 0)),
            coalesce(fits_11, if(decimals <= 0, fits, 0)),
            coalesce(fits_12, if(decimals <= 1, fits, 0)),
            coalesce(fits_13, if(decimals <= 1, fits, 0)),
            coalesce(fits_14, if(decimals <= 2, fits, 0)),
            coalesce(fits_15, if(decimals <= 2, fits, 0)),
            coalesce(fits_16, if(decimals <= 3, fits, 0)),
            coalesce(fits_17, if(decimals <= 3, fits, 0)),
        ]
    ) as fits,
from unrounded
left join audit.rounded_subtotal_fits as rounded
    on unrounded.order_id = rounded.order_id
