-- One row per order that states all six prices: the total rules that give its total.
--
-- Forms and roundings are numbered as in audit.formula_rules; masks, lists and rounding
-- are those of audit.subtotal_fits, and so is the bound of ten billion.
with

narrow as (
    select
        order_id,
        try_cast(subtotal_price as decimal(14, 4)) as subtotal,
        try_cast(delivery_price as decimal(14, 4)) as delivery,
        try_cast(tip as decimal(14, 4)) as tip,
        try_cast(discount as decimal(14, 4)) as discount,
        try_cast(loyalty_discount as decimal(14, 4)) as loyalty,
        try_cast(total_price as decimal(14, 4)) as total,
    from core.orders
),

parts as (
    select
        *,
        -- below fifty billion: narrow enough to subtract from
        total - cast(subtotal + delivery + tip - discount - loyalty as decimal(15, 4))
            as residual,
    from narrow
),

-- How many decimals the parts need, and which units the total is whole in: bit kept.
unrounded as (
    select
        *,
        case
            when
                subtotal = cast(subtotal as decimal(13, 2))
                and delivery = cast(delivery as decimal(13, 2))
                and tip = cast(tip as decimal(13, 2))
                and discount = cast(discount as decimal(13, 2))
                and loyalty = cast(loyalty as decimal(13, 2))
                then case
                    when
                        subtotal = cast(subtotal as decimal(12, 1))
                        and delivery = cast(delivery as decimal(12, 1))
                        and tip = cast(tip as decimal(12, 1))
                        and discount = cast(discount as decimal(12, 1))
                        and loyalty = cast(loyalty as decimal(12, 1))
                        then case
                            when
                                subtotal = cast(subtotal as decimal(11, 0))
                                and delivery = cast(delivery as decimal(11, 0))
                                and tip = cast(tip as decimal(11, 0))
                                and discount = cast(discount as decimal(11, 0))
                                and loyalty = cast(loyalty as decimal(11, 0))
                                then 0
                            else 1
                        end
                    else 2
                end
            when
                subtotal = cast(subtotal as decimal(14, 3))
                and delivery = cast(delivery as decimal(14, 3))
                and tip = cast(tip as decimal(14, 3))
                and discount = cast(discount as decimal(14, 3))
                and loyalty = cast(loyalty as decimal(14, 3))
                then 3
            else 4
        end as decimals,
        if(total = cast(total as decimal(11, 0)), 1, 0)
            | if(total = cast(total as decimal(12, 1)), 2, 0)
            | if(total = cast(total as decimal(13, 2)), 4, 0)
            | if(total = cast(total as decimal(14, 3)), 8, 0) as whole_in,
        if(subtotal <> 0, 1, 0)
            | if(delivery <> 0, 2, 0)
            | if(tip <> 0, 4, 0)
            | if(discount <> 0, 8, 0)
            | if(loyalty <> 0, 16, 0)
            | 64 * decimals as tells,
        if(residual = 0, 1, 0)
            | if(residual = -delivery, 2, 0)
            | if(residual = -2 * delivery, 4, 0)
            | if(residual = -tip, 8, 0)
            | if(residual = -2 * tip, 16, 0)
            | if(residual = discount, 32, 0)
            | if(residual = 2 * discount, 64, 0)
            | if(residual = loyalty, 128, 0)
            | if(residual = 2 * loyalty, 256, 0)
            | if(residual = discount + loyalty, 512, 0)
            | if(residual = -delivery - tip, 1024, 0)
            | if(residual = -subtotal, 2048, 0)
            | if(residual = -2 * subtotal, 4096, 0) as fits,
    from parts
    where residual is not null
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

-- Few totals are whole in units of fewer decimals than the parts need.
whole as (
    select unrounded.*, units.kept, units.unit, units.half,
    from unrounded
    inner join units
        on units.kept < unrounded.decimals
        and (unrounded.whole_in >> units.kept) & 1 = 1
    where unrounded.whole_in & ((1 << unrounded.decimals) - 1) <> 0
),

candidates as (
    select
        order_id,
        total,
        form,
        kept,
        unit,
        half,
        cast(
            subtotals * subtotal
            + deliveries * delivery
            + tips * tip
            + discounts * discount
            + loyalties * loyalty as decimal(15, 4)
        ) as exact,
        abs(total - exact) as off,
    from whole
    cross join forms
),

found as (
    select
        order_id,
        kept,
        cast(1 as bigint) << form as form_bit,
        off < half or abs(total) > abs(exact) as is_half_up,
        off < half or total % (2 * unit) = 0 as is_half_even,
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
        [cast(fits as bigint)],
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
