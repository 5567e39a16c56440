-- One row per candidate rule: how lines could make the subtotal, and parts the total.
--
-- The catalogue. A rule is a form and a rounding; both are numbered from the simplest,
-- and where nothing tells rules apart the lower number is named. Expressions are for
-- one order: its lines in audit.order_line_sums, its parts in core.orders.
with

prices (price_no, price_name, price_sentence, price_expression) as (
    values
        (0, 'unit_price', 'a line is its price by its quantity', 'price * quantity'),
        (1, 'line_price', 'a line is its price, whatever its quantity', 'price')
),

modifiers (
    modifier_no,
    modifier_name,
    modifier_sentence,
    modifier_expression,
    modifier_answers
) as (
    values
        (
            0,
            'no_modifiers',
            'modifiers add nothing (inside the price, or not counted)',
            '',
            [0, null, null]
        ),
        (
            1,
            'modifiers_per_unit_by_own',
            'modifiers count by their own quantity, for every unit of the line',
            ' + quantity * {own}',
            [1, 0, 0]
        ),
        (
            2,
            'modifiers_per_unit',
            'modifiers count once, for every unit of the line',
            ' + quantity * {once}',
            [1, 0, 1]
        ),
        (
            3,
            'modifiers_per_line_by_own',
            'modifiers count by their own quantity, once a line',
            ' + {own}',
            [1, 1, 0]
        ),
        (
            4,
            'modifiers_per_line',
            'modifiers count once a line',
            ' + {once}',
            [1, 1, 1]
        )
),

actions (action_no, action_name, action_sentence, action_expression) as (
    values
        (0, 'all_add', ', whatever their action', '(add_# + other_#)'),
        (1, 'only_add', ', those with action add alone', 'add_#'),
        (
            2,
            'others_subtract',
            ', subtracted unless their action is add',
            '(add_# - other_#)'
        )
),

discounts (discount_no, discount_name, discount_sentence, discount_expression) as (
    values
        (0, 'before_discount', 'the discount is not taken off', ''),
        (
            1,
            'after_discount',
            'the discount is taken off already',
            ' - any_value(discount)'
        )
),

subtotals as (
    select
        'subtotal' as part,
        1 + 26 * discount_no + 13 * price_no
            + if(modifier_no = 0, 0, modifier_no + 4 * action_no) as form_no,
        concat_ws('/', price_name, modifier_name, action_name, discount_name) as form,
        price_sentence || '; ' || modifier_sentence
            || if(modifier_no = 0, '', action_sentence)
            || '; ' || discount_sentence as sentence,
        price_expression
            || replace(
                replace(
                    modifier_expression,
                    '{own}',
                    replace(action_expression, '#', 'own')
                ),
                '{once}',
                replace(action_expression, '#', 'once')
            ) as line_expression,
        discount_expression as rest_expression,
        [price_no]
            || modifier_answers
            || [if(modifier_no = 0, null, action_no), discount_no] as answers,
    from prices
    cross join modifiers
    cross join actions
    cross join discounts
    where modifier_no > 0 or action_no = 0 -- of no modifiers the action is not asked
),

totals (form_no, form, what, answers) as (
    values
        (1, 'observed', 'as in the observed order', [1, 1, 1, -1, -1]),
        (2, 'without_delivery', 'without the delivery charge', [1, 0, 1, -1, -1]),
        (3, 'delivery_subtracted', 'the delivery subtracted', [1, -1, 1, -1, -1]),
        (4, 'without_tip', 'without the tip', [1, 1, 0, -1, -1]),
        (5, 'tip_subtracted', 'the tip subtracted', [1, 1, -1, -1, -1]),
        (6, 'without_discount', 'without the discount', [1, 1, 1, 0, -1]),
        (7, 'discount_added', 'the discount added', [1, 1, 1, 1, -1]),
        (8, 'without_loyalty', 'without the loyalty discount', [1, 1, 1, -1, 0]),
        (9, 'loyalty_added', 'the loyalty discount added', [1, 1, 1, -1, 1]),
        (10, 'without_discounts', 'without either discount', [1, 1, 1, 0, 0]),
        (11, 'without_delivery_and_tip', 'without delivery and tip', [1, 0, 0, -1, -1]),
        (12, 'without_subtotal', 'without the subtotal', [0, 1, 1, -1, -1]),
        (13, 'subtotal_subtracted', 'the subtotal subtracted', [-1, 1, 1, -1, -1])
),

forms as (
    select part, form_no, form, sentence, line_expression, rest_expression, answers,
    from subtotals

    union all

    select
        'total' as part,
        form_no,
        form,
        'the total is subtotal + delivery + tip - discount - loyalty discount, ' || what
            as sentence,
        null as line_expression,
        concat_ws(
            ' ',
            ['-subtotal_price', null, 'subtotal_price'][answers[1] + 2],
            ['- delivery_price', null, '+ delivery_price'][answers[2] + 2],
            ['- tip', null, '+ tip'][answers[3] + 2],
            ['- discount', null, '+ discount'][answers[4] + 2],
            ['- loyalty_discount', null, '+ loyalty_discount'][answers[5] + 2]
        ) as rest_expression,
        answers,
    from totals
),

roundings as (
    select
        1 as rounding_no,
        'unrounded' as rounding,
        'nothing is rounded' as rounding_sentence,
        null as per,
        null as mode,
        null as kept_decimals,

    union all

    select
        2 + 8 * per_no + 2 * kept + mode_no as rounding_no,
        mode || '_' || kept || '_per_' || per as rounding,
        case mode_no
            when 0 then 'half up (away from zero)'
            else 'half even'
        end || ' to ' || kept || ' decimals per ' || per as rounding_sentence,
        per,
        mode,
        kept as kept_decimals,
    from (values (0, 'order'), (1, 'line')) as places (per_no, per)
    cross join (values (0, 'half_up'), (1, 'half_even')) as modes (mode_no, mode)
    cross join range(4) as decimals (kept)
)

select
    -- keys
    forms.part,
    cast(forms.form_no as bigint) as form_no,
    cast(roundings.rounding_no as bigint) as rounding_no,
    -- what it says
    forms.form || '/' || roundings.rounding as rule,
    forms.sentence || '; ' || roundings.rounding_sentence as sentence,
    case
        when forms.part = 'total' and per is null then rest_expression
        when forms.part = 'total'
            then 'round_' || mode || '(' || rest_expression || ', ' || kept_decimals
                || ')'
        when per is null then 'sum(' || line_expression || ')' || rest_expression
        when per = 'line'
            then 'sum(round_' || mode || '(' || line_expression || ', ' || kept_decimals
                || '))' || rest_expression
        else 'round_' || mode || '(sum(' || line_expression || ')' || rest_expression
            || ', ' || kept_decimals || ')'
    end as expression,
    -- how it is told from others
    list_transform(forms.answers, lambda answer: cast(answer as bigint)) as answers,
    cast(roundings.kept_decimals as bigint) as kept_decimals,
    roundings.per as rounded_per,
from forms
cross join roundings
-- a total has no lines
where forms.part = 'subtotal' or roundings.per is distinct from 'line'
