-- One row per order line: price, quantity, and what its modifiers could add up to.
with

modifiers as (
    select
        order_id,
        line_no,
        coalesce(action = 'add', false) as is_add, -- no action is an action not known
        -- beyond a million, products of quantities would leave 38 digits
        if(quantity between -1000000 and 1000000, quantity, null) as quantity,
        price,
    from core.order_line_modifiers
    where price <> 0 or price is null
),

modifier_sums as (
    select
        order_id,
        line_no,
        sum(if(is_add, price, 0)) as add_once,
        sum(if(is_add, cast(price as decimal(38, 4)) * quantity, 0)) as add_own,
        sum(if(is_add, 0, price)) as other_once,
        sum(if(is_add, 0, cast(price as decimal(38, 4)) * quantity)) as other_own,
        bool_or(quantity <> 1) as has_own,
        bool_or(not is_add) as has_other,
        count(*) = count(price) and count(*) = count(quantity) as is_whole,
        max(
            case
                when price = trunc(price) then 0
                when price = trunc(price, 1) then 1
                when price = trunc(price, 2) then 2
                when price = trunc(price, 3) then 3
                else 4
            end
        ) as decimals,
    from modifiers
    group by order_id, line_no
)

select
    -- keys
    lines.order_id,
    lines.line_no,
    -- what there is to add up
    if(lines.quantity between -1000000 and 1000000, lines.quantity, null) as quantity,
    lines.price,
    -- no row: no modifier with a price, and zero is what the others add up to
    cast(coalesce(sums.add_once, 0) as decimal(38, 4)) as add_once,
    cast(coalesce(sums.add_own, 0) as decimal(38, 4)) as add_own,
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
    cast(
        greatest(
            sums.decimals,
            case
                when lines.price = trunc(lines.price) then 0
                when lines.price = trunc(lines.price, 1) then 1
                when lines.price = trunc(lines.price, 2) then 2
                when lines.price = trunc(lines.price, 3) then 3
                when lines.price is not null then 4
            end
        ) as bigint
    ) as decimals,
from core.order_lines as lines
left join modifier_sums as sums
    on lines.order_id = sums.order_id
    and lines.line_no = sums.line_no
