-- One row per candidate form: how lines could make the subtotal, and parts the total.
--
-- The total's forms are all signs of four parts, those of the observed order first, and
-- two that do not add the subtotal. form_no is a form's place in fits of
-- audit.subtotal_patterns and audit.total_patterns.
with

prices (price_no, price_name, price_description, price_expression) as (
    values
        (0, 'unit_price', 'a line is its price by its quantity', 'price * quantity'),
        (1, 'line_price', 'a line is its price, whatever its quantity', 'price')
),

modifiers (modifier_no, modifier_name, modifier_description, times, parameters) as (
    values
        (0, 'no_modifiers', 'modifiers add nothing', '', [0, null, null]),
        (
            1,
            'modifiers_per_unit_by_own',
            'modifiers count by their own quantity for each unit of the line',
            ' + quantity * own',
            [1, 0, 0]
        ),
        (
            2,
            'modifiers_per_unit',
            'modifiers count once for each unit of the line',
            ' + quantity * once',
            [1, 0, 1]
        ),
        (
            3,
            'modifiers_per_line_by_own',
            'modifiers count by their own quantity once a line',
            ' + own',
            [1, 1, 0]
        ),
        (4, 'modifiers_per_line', 'modifiers count once a line', ' + once', [1, 1, 1])
),

actions (action_no, action_name, action_description, sums) as (
    values
        (0, 'all_add', ', whatever their action', '(add_# + other_#)'),
        (1, 'only_add', ', only those with action add', 'add_#'),
        (2, 'others_subtract', ', subtracted unless their action is add', '(add_# - other_#)')
),

discounts (discount_no, discount_name, discount_description, discount_expression) as (
    values
        (0, 'before_discount', 'before the discount', ''),
        (1, 'after_discount', 'less the discount', ' - any_value(discount)'),
        (2, 'discount_added', 'plus the discount', ' + any_value(discount)')
),

-- turn: 0 as in the observed order, 1 not in the total, 2 the other way round
turns (turn) as (values (0), (1), (2)),

signs as (
    select
        subtotals.turn as subtotal_turn,
        [1, 0, -1][subtotals.turn + 1] as subtotal,
        [1, 0, -1][deliveries.turn + 1] as delivery,
        [1, 0, -1][tips.turn + 1] as tip,
        [-1, 0, 1][discounts.turn + 1] as discount,
        [-1, 0, 1][loyalties.turn + 1] as loyalty,
        27 * deliveries.turn + 9 * tips.turn + 3 * discounts.turn + loyalties.turn as turned,
        concat_ws(
            '+',
            [null, 'without_subtotal', 'subtotal_subtracted'][subtotals.turn + 1],
            [null, 'without_delivery', 'delivery_subtracted'][deliveries.turn + 1],
            [null, 'without_tip', 'tip_subtracted'][tips.turn + 1],
            [null, 'without_discount', 'discount_added'][discounts.turn + 1],
            [null, 'without_loyalty', 'loyalty_added'][loyalties.turn + 1]
        ) as differences,
    from turns as subtotals
    cross join turns as deliveries
    cross join turns as tips
    cross join turns as discounts
    cross join turns as loyalties
    where subtotals.turn = 0 or turned = 0
),

totals as (
    select
        *,
        ltrim(
            concat_ws(
                ' ',
                ['- subtotal_price', null, '+ subtotal_price'][subtotal + 2],
                ['- delivery_price', null, '+ delivery_price'][delivery + 2],
                ['- tip', null, '+ tip'][tip + 2],
                ['- discount', null, '+ discount'][discount + 2],
                ['- loyalty_discount', null, '+ loyalty_discount'][loyalty + 2]
            ),
            '+ '
        ) as rest_expression,
    from signs
)

select
    'subtotal' as rule_target,
    cast(
        1 + 26 * discount_no + 13 * price_no
        + if(modifier_no = 0, 0, modifier_no + 4 * action_no) as bigint
    ) as form_no,
    concat_ws('/', price_name, modifier_name, action_name, discount_name) as form,
    price_description || '; ' || modifier_description
        || if(modifier_no = 0, '', action_description)
        || '; ' || discount_description as form_description,
    price_expression || regexp_replace(times, '(own|once)', replace(sums, '#', '\1'))
        as line_expression,
    if(
        price_no = 0 and modifier_no in (0, 1, 2), -- nothing is counted once a line
        concat_ws(
            ' + ',
            'price',
            case modifier_no
                when 1 then replace(sums, '#', 'own')
                when 2 then replace(sums, '#', 'once')
            end
        ),
        null
    ) as unit_expression,
    discount_expression as rest_expression,
    list_transform(
        [price_no] || parameters || [if(modifier_no = 0, null, action_no), discount_no],
        lambda each: cast(each as bigint)
    ) as rule_parameters,
    cast(
        price_no + (modifier_no + 3) // 4 + if(modifier_no = 0, 0, action_no)
        + discount_no as bigint
    ) as complexity,
from prices
cross join modifiers
cross join actions
cross join discounts
where modifier_no > 0 or action_no = 0 -- without modifiers the action is not asked

union all

select
    'total' as rule_target,
    cast(if(subtotal_turn = 0, 1 + turned, 81 + subtotal_turn) as bigint) as form_no,
    if(differences = '', 'observed', differences) as form,
    replace(replace(rest_expression, '_price', ''), '_', ' ') as form_description,
    null as line_expression,
    null as unit_expression,
    rest_expression,
    list_transform(
        [subtotal, delivery, tip, discount, loyalty],
        lambda each: cast(each as bigint)
    ) as rule_parameters,
    cast(len(string_split(differences, '+')) - if(differences = '', 1, 0) as bigint)
        as complexity,
from totals
