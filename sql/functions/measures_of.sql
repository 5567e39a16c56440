-- measures_of(amounts, order_count): each measure of a closed day, with its amount; one that
-- is null adds nothing to a sum.
[
    {'measure': 'order_count', 'amount': cast(order_count as decimal(38, 4))},
    {'measure': '$price', 'amount': amounts.$price},
    {'measure': 'line_amount', 'amount': amounts.line_amount}
]
