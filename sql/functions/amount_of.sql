-- amount_of(an_order, field): the amount that an order of mart.orders states in a field of that name.
case field
    when '$price' then an_order.$price
end
