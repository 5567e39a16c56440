-- measures_of(amounts, order_count): each measure of a closed day, with its amount; one that
-- is null adds nothing to a sum.
[
    {'measure': 'order_count', 'amount': cast(order_count as decimal(38, 4))},
    {'measure': 'subtotal_price', 'amount': amounts.subtotal_price},
    {'measure': 'delivery_price', 'amount': amounts.delivery_price},
    {'measure': 'tip', 'amount': amounts.tip},
    {'measure': 'discount', 'amount': amounts.discount},
    {'measure': 'loyalty_discount', 'amount': amounts.loyalty_discount},
    {'measure': 'total_price', 'amount': amounts.total_price},
    {'measure': 'line_amount', 'amount': amounts.line_amount}
]
