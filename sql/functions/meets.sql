-- meets(conditions, an_order): whether an order meets all conditions of a setting; null if it
-- fails none and lacks a field that one asks for.
coalesce(len(conditions), 0) = 0
or [false, null, true][1 + list_min(list_transform(
    conditions,
    lambda each: coalesce(
        2 * cast(if(
            starts_with(each.value, chr(39)),
            (text_of(an_order, each.field) = each.value[2:-2]) = (each.operator = '='),
            compares(number_of(an_order, each.field), each.operator, each.value)
        ) as integer),
        1
    )
))]
