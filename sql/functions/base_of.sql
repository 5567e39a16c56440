-- base_of(amounts, base): the amount of an order that a component, or a residual, is a share of.
case base
    when 'subtotal' then amounts.subtotal_price
    when 'subtotal_less_discount' then amounts.subtotal_price - amounts.discount
    when 'subtotal_less_all_discounts' then amounts.subtotal_price - amounts.discount - amounts.loyalty_discount
    when 'subtotal_and_delivery' then amounts.subtotal_price + amounts.delivery_price
    when 'subtotal_and_delivery_less_all_discounts'
        then amounts.subtotal_price + amounts.delivery_price - amounts.discount - amounts.loyalty_discount
    when 'delivery' then amounts.delivery_price
    when 'tip' then amounts.tip
    when 'discount' then amounts.discount
    when 'loyalty' then amounts.loyalty_discount
    when 'discount_above_subtotal'
        then if(amounts.discount < amounts.subtotal_price, 0, amounts.discount - amounts.subtotal_price)
end
