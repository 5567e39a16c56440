-- base_of(amounts, base): the amount of an order that a component, or a residual, is a share of.
case base
    when 'subtotal' then amounts.subtotal_price
    when 'subtotal_less_discount' then amounts.subtotal_price - amounts.discount
    when 'delivery' then amounts.delivery_price
    when 'tip' then amounts.tip
    when 'discount' then amounts.discount
    when 'loyalty' then amounts.loyalty_discount
end
