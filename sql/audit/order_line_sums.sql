-- One row per order line: price, quantity, and what its modifiers could add up to.
with

modifiers as (
    select
        order_id,
        line_no,
        coalesce(action <> 'add', true) as is_other, -- no action is an action not known
        quantity between -1000000 and 1000000 and quantity <> 1 as has_own,
        price,
        -- most are chosen once: nothing to multiply; beyond a million, products of
        -- quantities would leave 38 digits
        case
            when quantity = 1 then price
            when quantity between -1000000 and 1000000
                then cast(price as decimal(38, 4)) * quantity
        end as own,
        case
            -- try: rounding the largest amounts leaves their type
            when price = try_cast(price as decimal(16, 2)) then case
                when price <> try_cast(price as decimal(15, 1)) then 2
                when price <> try_cast(price as decimal(14, 0)) then 1
                else 0
            end
            when price = try_cast(price as decimal(17, 3)) then 3
            when price is not null then 4
        end as decimals,
    from core.order_line_modifiers
    where price <> 0 or price is null
),

modifier_sums as (
    select
        order_id,
        line_no,
        sum(price) as once,
        sum(own) as own,
        sum(price) filter (where is_other) as other_once,
        sum(own) filter (where is_other) as other_own,
        bool_or(has_own) as has_own,
        bool_or(is_other) as has_other,
        count(*) = count(own) as is_whole,
        max(decimals) as decimals,
    from modifiers
    group by order_id, line_no
),

lines as (
    select
        order_id,
        line_no,
        product_id,
        name,
        quantity,
        price,
        case
            -- try: rounding the largest amounts leaves their type
            when price = try_cast(price as decimal(16, 2)) then case
                when price <> try_cast(price as decimal(15, 1)) then 2
                when price <> try_cast(price as decimal(14, 0)) then 1
                else 0
            end
            when price = try_cast(price as decimal(17, 3)) then 3
            when price is not null then 4
        end as decimals,
    from core.order_lines
)

select
    -- keys
    lines.order_id,
    lines.line_no,
    -- what it is
    lines.product_id,
    lines.name,
    -- what there is to add up
    lines.quantity,
    lines.price,
    -- no row: no modifier with a price, and zero is what the others add up to
    cast(
        coalesce(sums.once, 0) - coalesce(sums.other_once, 0) as decimal(38, 4)
    ) as add_once,
    cast(
        coalesce(sums.own, 0) - coalesce(sums.other_own, 0) as decimal(38, 4)
    ) as add_own,
    cast(coalesce(sums.other_once, 0) as decimal(38, 4)) as other_once,
    cast(coalesce(sums.other_own, 0) as decimal(38, 4)) as other_own,
    -- what it can tell
    sums.order_id is not null as has_modifiers,
    coalesce(sums.has_own, false) as has_own,
    coalesce(sums.has_other, false) as has_other,
    coalesce(
        lines.price is not null
        and lines.quantity between -1000000 and 1000000
        and coalesce(sums.is_whole, true),
        false
    ) as is_whole,
    cast(greatest(sums.decimals, lines.decimals) as bigint) as decimals,
from lines
left join modifier_sums as sums
    on lines.order_id = sums.order_id
    and lines.line_no = sums.line_no
