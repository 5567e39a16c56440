-- amount_of(an_order, field): the amount that an order of mart.orders states in a field of that name.
case field
    when 'subtotal_price' then an_order.subtotal_price
    when 'delivery_price' then an_order.delivery_price
    when 'tip' then an_order.tip
    when 'discount' then an_order.discount
    when 'loyalty_discount' then an_order.loyalty_discount
    when 'total_price' then an_order.total_price
end
