-- One row per order that states all six prices: the total rules that give its total.
--
-- Forms and roundings are numbered as in audit.formula_rules; masks, lists and rounding
-- are those of audit.subtotal_fits.
with

parts as (
    select
        order_id,
        cast(subtotal_price as decimal(38, 4)) as subtotal,
        cast(delivery_price as decimal(38, 4)) as delivery,
        cast(tip as decimal(38, 4)) as tip,
        cast(discount as decimal(38, 4)) as discount,
        cast(loyalty_discount as decimal(38, 4)) as loyalty,
        cast(total_price as decimal(38, 4)) as total_price,
        subtotal + delivery + tip - discount - loyalty as observed,
        total_price - observed as residual,
    from core.orders
    where residual is not null
),

unrounded as (
    select
        *,
        case
            when abs(subtotal % 1) + abs(delivery % 1) + abs(tip % 1)
                + abs(discount % 1) + abs(loyalty % 1) = 0 then 0
            when abs(subtotal % 0.1) + abs(delivery % 0.1) + abs(tip % 0.1)
                + abs(discount % 0.1) + abs(loyalty % 0.1) = 0 then 1
            when abs(subtotal % 0.01) + abs(delivery % 0.01) + abs(tip % 0.01)
                + abs(discount % 0.01) + abs(loyalty % 0.01) = 0 then 2
            when abs(subtotal % 0.001) + abs(delivery % 0.001) + abs(tip % 0.001)
                + abs(discount % 0.001) + abs(loyalty % 0.001) = 0 then 3
            else 4
        end as decimals,
        if(subtotal <> 0, 1, 0)
            + if(delivery <> 0, 2, 0)
            + if(tip <> 0, 4, 0)
            + if(discount <> 0, 8, 0)
            + if(loyalty <> 0, 16, 0)
            + 64 * decimals as tells,
        cast(residual = 0 as bigint)
        | (cast(residual = -delivery as bigint) << 1)
        | (cast(residual = -2 * delivery as bigint) << 2)
        | (cast(residual = -tip as bigint) << 3)
        | (cast(residual = -2 * tip as bigint) << 4)
        | (cast(residual = discount as bigint) << 5)
        | (cast(residual = 2 * discount as bigint) << 6)
        | (cast(residual = loyalty as bigint) << 7)
        | (cast(residual = 2 * loyalty as bigint) << 8)
        | (cast(residual = discount + loyalty as bigint) << 9)
        | (cast(residual = -delivery - tip as bigint) << 10)
        | (cast(residual = -subtotal as bigint) << 11)
        | (cast(residual = -2 * subtotal as bigint) << 12)
            as fits,
    from parts
),

-- How often a form counts each part.
forms (form, subtotals, deliveries, tips, discounts, loyalties) as (
    values
        (0, 1, 1, 1, -1, -1),
        (1, 1, 0, 1, -1, -1),
        (2, 1, -1, 1, -1, -1),
        (3, 1, 1, 0, -1, -1),
        (4, 1, 1, -1, -1, -1),
        (5, 1, 1, 1, 0, -1),
        (6, 1, 1, 1, 1, -1),
        (7, 1, 1, 1, -1, 0),
        (8, 1, 1, 1, -1, 1),
        (9, 1, 1, 1, 0, 0),
        (10, 1, 0, 0, -1, -1),
        (11, 0, 1, 1, -1, -1),
        (12, -1, 1, 1, -1, -1)
),

units (kept, unit, half) as (
    values
        (0, cast(1 as decimal(5, 4)), cast(0.5 as decimal(5, 4))),
        (1, 0.1, 0.05),
        (2, 0.01, 0.005),
        (3, 0.001, 0.0005)
),

candidates as (
    select
        order_id,
        total_price,
        form,
        kept,
        unit,
        half,
        subtotals * subtotal
            + deliveries * delivery
            + tips * tip
            + discounts * discount
            + loyalties * loyalty as exact,
        abs(total_price - exact) as off,
    from unrounded
    inner join units on kept < decimals and total_price % unit = 0
    cross join forms
),

found as (
    select
        order_id,
        kept,
        cast(1 as bigint) << form as form_bit,
        off < half or abs(total_price) > abs(exact) as is_half_up,
        off < half or total_price % (2 * unit) = 0 as is_half_even,
    from candidates
    where off <= half
),

rounded as (
    select
        order_id,
        bit_or(form_bit) filter (where kept = 0 and is_half_up) as fits_2,
        bit_or(form_bit) filter (where kept = 0 and is_half_even) as fits_3,
        bit_or(form_bit) filter (where kept = 1 and is_half_up) as fits_4,
        bit_or(form_bit) filter (where kept = 1 and is_half_even) as fits_5,
        bit_or(form_bit) filter (where kept = 2 and is_half_up) as fits_6,
        bit_or(form_bit) filter (where kept = 2 and is_half_even) as fits_7,
        bit_or(form_bit) filter (where kept = 3 and is_half_up) as fits_8,
        bit_or(form_bit) filter (where kept = 3 and is_half_even) as fits_9,
    from found
    group by order_id
)

select
    -- keys
    unrounded.order_id,
    -- what it can tell
    cast(unrounded.tells as bigint) as tells,
    -- which rules give its total
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
        ]
    ) as fits,
from unrounded
left join rounded on unrounded.order_id = rounded.order_id
