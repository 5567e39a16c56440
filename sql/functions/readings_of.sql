-- readings_of(a_line): an amount of a line of workings.order_line_sums, in each way to read it.
[
    a_line.quantity * (a_line.price + a_line.add_own),
    a_line.quantity * (a_line.price + a_line.add_own + a_line.other_own),
    a_line.quantity * (a_line.price + a_line.add_once),
    a_line.quantity * a_line.price + a_line.add_own,
    a_line.price + a_line.add_own,
    a_line.quantity * a_line.price,
    a_line.price,
]
