-- text_of(an_order, field): a text that an order of mart.orders has in a field of that name.
case field
    when 'platform' then an_order.platform
    when 'dispatch_method' then an_order.dispatch_method
    when 'status' then an_order.status
    when 'currency' then an_order.currency
    when 'daypart' then cast(an_order.daypart as varchar)
    when 'delivery_type' then an_order.delivery_type
end
