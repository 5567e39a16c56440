-- One row per thing that an order can hold and that candidate forms treat differently.
--
-- part_no is its place in holds of audit.subtotal_patterns and audit.total_patterns. What
-- is_tested refutes forms; the others only divide orders. parameter_no is the place in
-- rule_parameters of audit.formula_forms that says what a form does with it.
select
    rule_target,
    cast(part_no as bigint) as part_no,
    part,
    deciding_case,
    is_tested,
    cast(parameter_no as bigint) as parameter_no,
from (
    values
        ('subtotal', 1, 'quantity', 'an order with a priced line of quantity other than 1', true, 1),
        ('subtotal', 2, 'modifiers', 'an order with a priced modifier', true, 2),
        (
            'subtotal',
            3,
            'modifiers on quantity',
            'an order with quantity above 1 and a priced modifier',
            true,
            3
        ),
        (
            'subtotal',
            4,
            'modifier quantity',
            'an order with a priced modifier of quantity above 1',
            true,
            4
        ),
        (
            'subtotal',
            5,
            'other action',
            'an order with a priced modifier of another action than add',
            true,
            5
        ),
        ('subtotal', 6, 'discount', 'an order with a discount', true, 6),
        ('subtotal', 7, 'stated zero', 'an order with priced lines and subtotal 0', false, null),
        ('total', 1, 'delivery', 'an order with a delivery charge', true, 2),
        ('total', 2, 'tip', 'an order with a tip', true, 3),
        ('total', 3, 'discount', 'an order with a discount', true, 4),
        ('total', 4, 'loyalty', 'an order with a loyalty discount', true, 5),
        ('total', 5, 'subtotal', 'an order with a subtotal', true, 1),
        ('total', 6, 'component', 'an order with a component of the settings', true, null),
        ('total', 7, 'stated zero', 'an order with a subtotal and total 0', false, null)
) as parts (rule_target, part_no, part, deciding_case, is_tested, parameter_no)
