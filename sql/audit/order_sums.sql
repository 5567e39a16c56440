-- One row per order with lines: every sum of them that a subtotal rule may ask for.
with

lines as (
    select
        order_id,
        cast(price as decimal(38, 4)) as price,
        quantity,
        add_once,
        add_own,
        other_once,
        other_own,
        has_modifiers,
        has_own,
        has_other,
        is_whole,
        decimals,
    from audit.order_line_sums
)

select
    -- keys
    order_id,
    -- prices and modifiers; null where a line does not state what is needed
    if(bool_and(is_whole), sum(price), null) as price_once,
    if(bool_and(is_whole), sum(price * quantity), null) as price_by_quantity,
    if(bool_and(is_whole), sum(add_once), null) as add_once,
    if(bool_and(is_whole), sum(add_own), null) as add_own,
    if(bool_and(is_whole), sum(add_once * quantity), null) as add_per_unit,
    if(bool_and(is_whole), sum(add_own * quantity), null) as add_own_per_unit,
    if(bool_and(is_whole), sum(other_once), null) as other_once,
    if(bool_and(is_whole), sum(other_own), null) as other_own,
    if(bool_and(is_whole), sum(other_once * quantity), null) as other_per_unit,
    if(bool_and(is_whole), sum(other_own * quantity), null) as other_own_per_unit,
    -- what it can tell
    coalesce(bool_or(quantity <> 1 and price <> 0), false) as has_quantity,
    bool_or(has_modifiers) as has_modifiers,
    coalesce(bool_or(quantity <> 1 and has_modifiers), false) as has_unit,
    bool_or(has_own) as has_own,
    bool_or(has_other) as has_other,
    bool_and(is_whole) as is_whole,
    count(*) as lines,
    max(decimals) as decimals,
from lines
group by order_id
