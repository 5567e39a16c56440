-- unit_price_by(rule, line): the price of one unit of a line, by a subtotal rule; null where it
-- is open whether the price is of a unit or of the line.
case
    when line.quantity = 1 then line.price
    when not rule.has_rule or rule.open_parts & 1 <> 0 then null
    else if(rule.is_price_alone, divided(line.price, line.quantity), line.price)
end
