-- One row per order line: its price, its quantity, and what its modifiers could add up to.
--
-- A step: read workings.formula_evidence instead.
-- Source: core.order_lines and core.order_line_modifiers. Modifiers of price zero are counted and else left out: they
-- add nothing under any rule.
-- Caveats: none of these sums is an amount paid; which of them counts is what workings.formula_evidence is about.
-- Quantities beyond a million count as not stated: their products would leave 38 digits.
--
-- key: order_id, line_no
-- scope: order
--
-- name: The product's name when ordered.
-- price: The price of the line's product, as sent.
-- add_once DECIMAL(38,4) null: Sum of the prices of modifiers with action add.
-- add_own DECIMAL(38,4) null: The same, each by its own quantity.
-- other_once DECIMAL(38,4) null: Sum of the prices of modifiers with any other action, or none.
-- other_own DECIMAL(38,4) null: The same, each by its own quantity.
-- has_modifiers BOOLEAN: Whether a modifier has a price other than zero, or one that is not stated.
-- has_own BOOLEAN: Whether one of those modifiers has a quantity other than 1.
-- has_other BOOLEAN: Whether one of those modifiers has another action than add, or none.
-- is_whole BOOLEAN: Whether price, quantity and those of its modifiers are all stated and within bounds.
-- decimals BIGINT null >= 0 <= 4: The most decimals that any of its prices needs, 0 to 4.

-- Modifiers that are added, with amounts and quantities of common size, are added up in
-- 18 digits, which is several times faster than 38; the few others by themselves.
with modifiers as not materialized (
    select
        order_id, line_no, price, quantity,
        coalesce(action <> 'add', true) as is_other, -- no action is an action not known
        coalesce(
            price not between -9999999999 and 9999999999
            or quantity not between -9999 and 9999,
            true
        ) as is_wide,
        if(is_wide, null, cast(price as decimal(14, 4)) * cast(quantity as decimal(4, 0))) as narrow_own,
        -- price zero adds nothing under any rule: such a modifier only counts
        price is null or price <> 0 as is_priced,
        -- what there is among a line's: another quantity than one, another action
        if(quantity between -1000000 and 1000000 and quantity <> 1, 1, 0) | if(is_other, 2, 0) as bits,
    from core.order_line_modifiers
),
common as (
    select
        order_id, line_no, count(*) as modifier_count, sum(price) as once, sum(narrow_own) as narrow_own,
        bit_or(if(is_priced, bits, null)) as bits,
        max(if(is_priced, decimals_of(price), null)) as decimals,
    from modifiers group by order_id, line_no
),
rare_modifiers as (
    select
        order_id, line_no, price, is_other, is_wide,
        -- beyond a million, products of quantities would leave 38 digits
        if(quantity between -1000000 and 1000000, cast(price as decimal(38, 4)) * quantity, null) as own,
    from modifiers where is_priced and (is_other or is_wide)
),
rare as (
    select
        order_id, line_no,
        sum(price) filter (where is_other) as other_once,
        sum(own) filter (where is_other) as other_own,
        sum(own) filter (where is_wide) as wide_own,
        count(*) = count(own) as is_whole,
    from rare_modifiers group by order_id, line_no
),
lines as (
    select
        order_id, line_no, product_id, name, quantity, price,
        decimals_of(price) as decimals,
    from core.order_lines
)

select
    lines.order_id, lines.line_no, lines.product_id, lines.name, lines.quantity, lines.price,
    coalesce(common.modifier_count, 0) as modifier_count,
    -- no row: no modifier with a price, and zero is what the others add up to
    cast(
        if(
            rare.order_id is null, coalesce(common.once, 0), coalesce(common.once, 0) - coalesce(rare.other_once, 0)
        ) as decimal(38, 4)
    ) as add_once,
    cast(
        if(
            rare.order_id is null,
            coalesce(common.narrow_own, 0),
            coalesce(common.narrow_own, 0) + coalesce(rare.wide_own, 0) - coalesce(rare.other_own, 0)
        ) as decimal(38, 4)
    ) as add_own,
    cast(coalesce(rare.other_once, 0) as decimal(38, 4)) as other_once,
    cast(coalesce(rare.other_own, 0) as decimal(38, 4)) as other_own,
    common.bits is not null as has_modifiers,
    coalesce(common.bits & 1 <> 0, false) as has_own,
    coalesce(common.bits & 2 <> 0, false) as has_other,
    coalesce(
        lines.price is not null
        and lines.quantity between -1000000 and 1000000
        and coalesce(rare.is_whole, true),
        false
    ) as is_whole,
    cast(greatest(lines.decimals, common.decimals) as bigint) as decimals,
from lines
left join common using (order_id, line_no)
left join rare using (order_id, line_no)
