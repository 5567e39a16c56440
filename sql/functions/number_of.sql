-- number_of(an_order, field): a number that an order of mart.orders has in a field of that name.
case field
    when '$price' then cast(an_order.$price as decimal(38, 4))
    when 'line_count' then cast(an_order.line_count as decimal(38, 4))
    when 'unit_count' then try_cast(an_order.unit_count as decimal(38, 4))
    when 'hour' then cast(an_order.hour as decimal(38, 4))
    when 'store_id' then cast(an_order.store_id as decimal(38, 4))
    when 'weekday' then cast(an_order.weekday as decimal(38, 4))
end
