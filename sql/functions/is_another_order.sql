-- is_another_order(changes): Whether a version of an order differs so from the one before, as a list of structs of field, old_value and new_value, that it is another order: created at another time and, besides, in another store or by another customer.
len(list_filter(changes, lambda c: c.field = 'created_at' and c.old_value <> c.new_value)) > 0
and len(
    list_filter(
        changes,
        lambda c: c.field in ('user_phone', 'user_email')
            or (c.field = 'store_id' and c.old_value <> c.new_value)
    )
) > 0
