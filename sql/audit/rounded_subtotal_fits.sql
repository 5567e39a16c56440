-- One row per order whose subtotal some rule gives that rounds: which rules do.
--
-- Forms and roundings are numbered as in audit.formula_rules. A set of forms is a mask,
-- bit form_no - 1. Nothing is divided: a rounding fits when the stated amount is a
-- whole number of units and lies half a unit at most from the exact one. Rules that an
-- order cannot tell apart are worked out once, and only where fewer decimals are kept
-- than there are.
with

-- Which units the stated amounts are whole in, before and after the discount: bit kept.
sums as (
    select
        * exclude (tells, fits, lines),
        cast(lines as decimal(9, 0)) as lines, -- narrow: its products keep to 18 digits
        fits as plain_fits,
        tells & 31 as line_tells,
        tells >> 6 as decimals,
        add_own_per_unit + other_own_per_unit as own_per_unit,
        add_per_unit + other_per_unit as per_unit,
        add_own + other_own as own,
        add_once + other_once as once,
        add_own_per_unit - other_own_per_unit as less_own_per_unit,
        add_per_unit - other_per_unit as less_per_unit,
        add_own - other_own as less_own,
        add_once - other_once as less_once,
        subtotal + discount as before_discount,
        if(subtotal = cast(subtotal as decimal(11, 0)), 1, 0)
            | if(subtotal = cast(subtotal as decimal(12, 1)), 2, 0)
            | if(subtotal = cast(subtotal as decimal(13, 2)), 4, 0)
            | if(subtotal = cast(subtotal as decimal(14, 3)), 8, 0) as whole_in,
        if(before_discount = cast(before_discount as decimal(12, 0)), 1, 0)
            | if(before_discount = cast(before_discount as decimal(13, 1)), 2, 0)
            | if(before_discount = cast(before_discount as decimal(14, 2)), 4, 0)
            | if(before_discount = cast(before_discount as decimal(15, 3)), 8, 0)
            as before_whole_in,
    from audit.subtotal_fits
),

-- What the five answers in line_tells leave equal: the form that stands for the others
-- (from 0, before the discount) and the mask of those that it stands for.
forms as (
    select
        form,
        form >= 13 as is_price_alone,
        form % 13 = 0 as is_without,
        form % 13 in (1, 2, 5, 6, 9, 10) as is_per_unit,
        form % 13 in (1, 3, 5, 7, 9, 11) as is_own,
        case when form % 13 <= 4 then 1 when form % 13 <= 8 then 0 else -1 end as sign,
    from range(26) as forms (form)
),

classes as (
    select
        tells as line_tells,
        if(is_price_alone and tells & 1 <> 0, 13, 0)
            + if(
                is_without or tells & 2 = 0,
                0,
                1
                + if(tells & 16 <> 0, 4 * (1 - sign), 0)
                + if(not is_per_unit and tells & 4 <> 0, 2, 0)
                + if(not is_own and tells & 8 <> 0, 1, 0)
            ) as standing,
        cast(sum(cast(1 as bigint) << forms.form) as bigint) as members,
    from forms
    cross join range(32) as answers (tells)
    group by tells, standing
),

units (kept, unit, half) as (
    values
        (0, cast(1 as decimal(5, 4)), cast(0.5 as decimal(5, 4))),
        (1, 0.1, 0.05),
        (2, 0.01, 0.005),
        (3, 0.001, 0.0005)
),

-- materialized: few amounts are whole, and working out every one for every class would
-- cost more than all the rest
whole as materialized (
    select
        sums.*,
        units.kept,
        units.unit,
        units.half,
        (sums.whole_in >> units.kept) & 1 = 1 as is_whole,
    from sums
    inner join units
        on units.kept < sums.decimals
        and ((sums.whole_in | sums.before_whole_in) >> units.kept) & 1 = 1
    where (sums.whole_in | sums.before_whole_in) & ((1 << sums.decimals) - 1) <> 0
),

priced as (
    select
        whole.order_id,
        whole.plain_fits,
        whole.decimals,
        whole.subtotal,
        whole.discount,
        whole.lines,
        whole.kept,
        whole.unit,
        whole.half,
        whole.is_whole,
        forms.* exclude (form),
        classes.standing as form,
        classes.members,
        if(forms.is_price_alone, price_once, price_by_quantity)
            + case classes.standing % 13
                when 0 then 0
                when 1 then own_per_unit
                when 2 then per_unit
                when 3 then own
                when 4 then once
                when 5 then add_own_per_unit
                when 6 then add_per_unit
                when 7 then add_own
                when 8 then add_once
                when 9 then less_own_per_unit
                when 10 then less_per_unit
                when 11 then less_own
                when 12 then less_once
            end as exact,
    from whole
    inner join classes on whole.line_tells = classes.line_tells
    inner join forms on classes.standing = forms.form
),

-- Lines can drift half a unit each: further off, no rounding explains it.
candidates as (
    select
        *,
        abs(subtotal - exact) as before_off,
        abs(subtotal - exact + discount) as after_off,
    from priced
    where before_off <= half * lines or after_off <= half * lines
),

per_order as (
    select
        order_id,
        plain_fits,
        decimals,
        2 + 2 * kept as rounding_no,
        -- half up: away from zero, as commerce rounds; half even: to the even unit
        if(
            before_off < half
            or (before_off = half and abs(subtotal) > abs(exact)),
            members,
            0
        ) | if(
            after_off < half
            or (after_off = half and abs(subtotal) > abs(exact - discount)),
            members << 26,
            0
        ) as half_up,
        if(
            before_off < half
            or (before_off = half and subtotal % (2 * unit) = 0),
            members,
            0
        ) | if(
            after_off < half
            or (after_off = half and subtotal % (2 * unit) = 0),
            members << 26,
            0
        ) as half_even,
    from candidates
    where is_whole and (before_off <= half or after_off <= half)
),

line_amounts as (
    select
        candidates.order_id,
        candidates.kept,
        candidates.form,
        candidates.unit,
        candidates.half,
        cast(price as decimal(38, 4)) * if(is_price_alone, 1, quantity)
            + if(
                is_without,
                0,
                if(is_per_unit, quantity, 1) * (
                    if(is_own, add_own, add_once)
                    + sign * if(is_own, other_own, other_once)
                )
            ) as amount,
        -- each branch by itself: a case of different scales would drop decimals
        case candidates.kept
            when 0 then cast(round(amount) as decimal(38, 4))
            when 1 then cast(round(amount, 1) as decimal(38, 4))
            when 2 then cast(round(amount, 2) as decimal(38, 4))
            when 3 then cast(round(amount, 3) as decimal(38, 4))
        end as half_up,
        if(
            abs(amount - half_up) = candidates.half
            and half_up % (2 * candidates.unit) <> 0,
            half_up - sign(amount) * candidates.unit,
            half_up
        ) as half_even,
    from candidates
    inner join audit.order_line_sums as lines on candidates.order_id = lines.order_id
),

rounded_lines as (
    select
        order_id,
        kept,
        form,
        sum(half_up) as half_up,
        sum(half_even) as half_even,
    from line_amounts
    group by order_id, kept, form
),

per_line as (
    select
        candidates.order_id,
        plain_fits,
        decimals,
        10 + 2 * kept as rounding_no,
        if(rounded_lines.half_up = subtotal, members, 0) | if(
            rounded_lines.half_up = subtotal + discount,
            members << 26,
            0
        ) as half_up,
        if(rounded_lines.half_even = subtotal, members, 0) | if(
            rounded_lines.half_even = subtotal + discount,
            members << 26,
            0
        ) as half_even,
    from candidates
    inner join rounded_lines using (order_id, kept, form)
),

found as (
    select * exclude (half_up, half_even), half_up as fits,
    from per_order
    where half_up <> 0

    union all

    select * exclude (half_up, half_even) replace (rounding_no + 1 as rounding_no), half_even,
    from per_order
    where half_even <> 0

    union all

    select * exclude (half_up, half_even), half_up,
    from per_line
    where half_up <> 0

    union all

    select * exclude (half_up, half_even) replace (rounding_no + 1 as rounding_no), half_even,
    from per_line
    where half_even <> 0
),

masks as (
    select
        order_id,
        plain_fits,
        decimals,
        bit_or(fits) filter (where rounding_no = 2) as fits_2,
        bit_or(fits) filter (where rounding_no = 3) as fits_3,
        bit_or(fits) filter (where rounding_no = 4) as fits_4,
        bit_or(fits) filter (where rounding_no = 5) as fits_5,
        bit_or(fits) filter (where rounding_no = 6) as fits_6,
        bit_or(fits) filter (where rounding_no = 7) as fits_7,
        bit_or(fits) filter (where rounding_no = 8) as fits_8,
        bit_or(fits) filter (where rounding_no = 9) as fits_9,
        bit_or(fits) filter (where rounding_no = 10) as fits_10,
        bit_or(fits) filter (where rounding_no = 11) as fits_11,
        bit_or(fits) filter (where rounding_no = 12) as fits_12,
        bit_or(fits) filter (where rounding_no = 13) as fits_13,
        bit_or(fits) filter (where rounding_no = 14) as fits_14,
        bit_or(fits) filter (where rounding_no = 15) as fits_15,
        bit_or(fits) filter (where rounding_no = 16) as fits_16,
        bit_or(fits) filter (where rounding_no = 17) as fits_17,
    from found
    group by order_id, plain_fits, decimals
)

select
    -- keys
    order_id,
    -- which forms give its subtotal, by rounding; to as many decimals as there are
    -- changes nothing
    [
        plain_fits,
        coalesce(fits_2, if(decimals <= 0, plain_fits, 0)),
        coalesce(fits_3, if(decimals <= 0, plain_fits, 0)),
        coalesce(fits_4, if(decimals <= 1, plain_fits, 0)),
        coalesce(fits_5, if(decimals <= 1, plain_fits, 0)),
        coalesce(fits_6, if(decimals <= 2, plain_fits, 0)),
        coalesce(fits_7, if(decimals <= 2, plain_fits, 0)),
        coalesce(fits_8, if(decimals <= 3, plain_fits, 0)),
        coalesce(fits_9, if(decimals <= 3, plain_fits, 0)),
        coalesce(fits_10, if(decimals <= 0, plain_fits, 0)),
        coalesce(fits_11, if(decimals <= 0, plain_fits, 0)),
        coalesce(fits_12, if(decimals <= 1, plain_fits, 0)),
        coalesce(fits_13, if(decimals <= 1, plain_fits, 0)),
        coalesce(fits_14, if(decimals <= 2, plain_fits, 0)),
        coalesce(fits_15, if(decimals <= 2, plain_fits, 0)),
        coalesce(fits_16, if(decimals <= 3, plain_fits, 0)),
        coalesce(fits_17, if(decimals <= 3, plain_fits, 0)),
    ] as fits,
from masks
