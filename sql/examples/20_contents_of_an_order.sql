-- What are the lines, modifiers and deliveries of an order?
select
    lines.order_id,
    lines.line_no,
    lines.name,
    lines.quantity,
    lines.price,
    (
        select list(modifiers.name order by modifiers.modifier_no)
        from core.order_line_modifiers as modifiers
        where modifiers.order_id = lines.order_id and modifiers.line_no = lines.line_no
    ) as modifiers,
from core.order_lines as lines
where lines.order_id = (select min(order_id) from core.order_lines)
order by lines.line_no
