-- stated_sums(sign, subtotal, delivery, tip, discount, loyalty, total): the sums of these
-- amounts over the rows of a group, times 1 or -1; what no row states adds nothing.
[
    sign * coalesce(sum(subtotal), 0),
    sign * coalesce(sum(delivery), 0),
    sign * coalesce(sum(tip), 0),
    sign * coalesce(sum(discount), 0),
    sign * coalesce(sum(loyalty), 0),
    sign * coalesce(sum(total), 0)
]
