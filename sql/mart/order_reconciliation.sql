-- One row per order: its total against its price fields, its subtotal against its lines, and the residuals.
--
-- Source: mart.orders, workings.order_formula_amounts, workings.order_residual_causes and workings.order_field_issues. The interface states no formula:
-- rules are supported by orders or set by [formula]; until then the total has that of the observed order. A residual
-- is a question to the partner, not an error.
-- Caveats: null means unknown, not zero. total_break and subtotal_break are about one identity; the other one may be
-- indeterminate (see reason). balanced needs both.
--
-- key: order_id
-- scope: order
-- join mart.orders (order_id): a residual has its order
--
-- unallocated_amount: subtotal_price less line_amount, null counted as zero: the part of the subtotal on no line.
-- subtotal_likely_cause ENUM('absent_array', 'constant_amount', 'delivery', 'discount', 'factor_of_100', 'line', 'loyalty_discount', 'modifiers', 'rounding', 'rounding_step', 'share_of_a_base', 'sign', 'sign_of_delivery', 'sign_of_discount', 'sign_of_loyalty_discount', 'sign_of_tip', 'tip', 'zero_stated') null: A heuristic, not proof: the only candidate that explains subtotal_residual to the cent, in either direction. Candidates: the amount of one field (tip, delivery, discount, loyalty_discount), of all modifiers or of one line; rounding (stated in whole units of 1, 0.1, 0.01 or 0.001 and less than a unit apart, or one cent); factor_of_100; the sign of the whole or of one field. Without one, absent_array: the document lacks items, or modifiers of an item. Null if there is no candidate, or more than one.
-- total_likely_cause ENUM('absent_array', 'constant_amount', 'delivery', 'discount', 'factor_of_100', 'line', 'loyalty_discount', 'modifiers', 'rounding', 'rounding_step', 'share_of_a_base', 'sign', 'sign_of_delivery', 'sign_of_discount', 'sign_of_loyalty_discount', 'sign_of_tip', 'tip', 'zero_stated') null: A heuristic, not proof: the only candidate that explains total_residual to the cent, in either direction. Candidates: the amount of one field (tip, delivery, discount, loyalty_discount), of all modifiers or of one line; rounding (stated in whole units of 1, 0.1, 0.01 or 0.001 and less than a unit apart, or one cent); factor_of_100; the sign of the whole or of one field. Null if there is no candidate, or more than one.
-- missing_parts VARCHAR[]: The price fields that the order does not state; empty if none is missing.
-- absent_fields VARCHAR[]: The documented fields that the document lacks, such as items/*/modifiers; one that is null is not among them.
-- verdict ENUM('balanced', 'both_break', 'indeterminate', 'subtotal_break', 'total_break'): balanced: both residuals are zero. total_break, subtotal_break, both_break: the total residual, the subtotal residual or both are not zero. indeterminate: no known break, and at least one residual is unknown.
-- reason: Why a residual is unknown; null if both are known.

-- Both by the rules in force for the order, and what may explain a residual.
with causes as (
    select
        order_id,
        any_value(likely_cause) filter (where rule_target = 'subtotal') as subtotal_likely_cause,
        any_value(likely_cause) filter (where rule_target = 'total') as total_likely_cause,
    from workings.order_residual_causes group by order_id
),
absent as (
    select
        order_id,
        list_transform(
            list_filter(missing_fields, lambda each: suffix(each, '=absent')), lambda each: each[: -8]
        ) as absent_fields,
    from workings.order_field_issues
)

select
    orders.order_id, orders.store_id, orders.business_date, orders.sale_class, orders.platform, orders.currency,
    orders.$price,
    amounts.line_amount,
    -- a subtotal that is not stated, and lines without an amount, add nothing here
    coalesce(orders.subtotal_price, 0) - coalesce(amounts.line_amount, 0) as unallocated_amount,
    amounts.subtotal_rule, amounts.formula_subtotal, amounts.subtotal_residual,
    coalesce(
        causes.subtotal_likely_cause,
        if(
            amounts.subtotal_residual <> 0
            and len(list_filter(absent.absent_fields, lambda each: regexp_matches(each, '(items|modifiers)$'))) > 0,
            'absent_array',
            null
        )
    ) as subtotal_likely_cause,
    amounts.total_rule, amounts.formula_total, amounts.total_residual, amounts.tip_in_total,
    amounts.components_amount, causes.total_likely_cause,
    if(
        orders.subtotal_price is null or orders.delivery_price is null or orders.tip is null
        or orders.discount is null or orders.loyalty_discount is null or orders.total_price is null,
        list_filter(
            [
                if(orders.subtotal_price is null, 'subtotal_price', null),
                if(orders.delivery_price is null, 'delivery_price', null),
                if(orders.tip is null, 'tip', null),
                if(orders.discount is null, 'discount', null),
                if(orders.loyalty_discount is null, 'loyalty_discount', null),
                if(orders.total_price is null, 'total_price', null),
            ],
            lambda part: part is not null
        ),
        []
    ) as missing_parts,
    coalesce(absent.absent_fields, []) as absent_fields,
    case
        when total_residual <> 0 and subtotal_residual <> 0 then 'both_break'
        when total_residual <> 0 then 'total_break'
        when subtotal_residual <> 0 then 'subtotal_break'
        when total_residual = 0 and subtotal_residual = 0 then 'balanced'
        else 'indeterminate'
    end as verdict,
    if(
        total_residual is not null and subtotal_residual is not null,
        null,
        concat_ws(
            '; ',
            case
                when total_residual is not null then null
                when amounts.total_rule is null then 'total: no rule is in force'
                else 'total: a price field is missing'
            end,
            case
                when subtotal_residual is not null then null
                when amounts.subtotal_rule is null then 'subtotal: no rule is in force'
                when orders.subtotal_price is null then 'subtotal: not stated'
                when not amounts.has_lines then 'subtotal: no lines'
                when not amounts.has_line_sum then 'subtotal: a line has no amount'
                else 'subtotal: discount not stated'
            end
        )
    ) as reason,
from workings.order_formula_amounts as amounts
inner join mart.orders as orders using (order_id)
left join causes using (order_id)
left join absent using (order_id)
