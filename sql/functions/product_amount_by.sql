-- product_amount_by(rule, line): what a line comes to without its modifiers, by a subtotal rule.
-- Most are sold once: nothing to multiply.
if(
    rule.is_price_alone or line.quantity = 1,
    line.price,
    cast(line.price as decimal(38, 4)) * line.quantity
)
