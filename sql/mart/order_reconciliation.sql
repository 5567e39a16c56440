-- One row per order: its total beside its parts, its subtotal beside its lines.
--
-- Both by the rules in force for the order, and what may explain a residual.
with

causes as (
    select
        order_id,
        any_value(likely_cause) filter (where rule_target = 'subtotal')
            as subtotal_likely_cause,
        any_value(likely_cause) filter (where rule_target = 'total')
            as total_likely_cause,
    from audit.order_residual_causes
    group by order_id
),

compared as (
    select
        orders.order_id,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.currency,
        orders.subtotal_price,
        orders.delivery_price,
        orders.tip,
        orders.discount,
        orders.loyalty_discount,
        orders.total_price,
        amounts.* exclude (order_id),
    from audit.order_formula_amounts as amounts
    inner join mart.orders as orders on amounts.order_id = orders.order_id
)

select
    -- keys
    compared.order_id,
    compared.store_id,
    compared.business_date,
    compared.sale_class,
    -- money as sent
    compared.currency,
    compared.subtotal_price,
    compared.delivery_price,
    compared.tip,
    compared.discount,
    compared.loyalty_discount,
    compared.total_price,
    -- the lines
    compared.line_amount,
    -- a subtotal that is not stated, and lines without an amount, add nothing here
    coalesce(compared.subtotal_price, 0) - coalesce(compared.line_amount, 0)
        as unallocated_amount,
    compared.subtotal_rule,
    compared.formula_subtotal,
    compared.subtotal_residual,
    causes.subtotal_likely_cause,
    -- the total
    compared.total_rule,
    compared.formula_total,
    compared.total_residual,
    causes.total_likely_cause,
    -- the answer
    if(
        compared.subtotal_price is null
        or compared.delivery_price is null
        or compared.tip is null
        or compared.discount is null
        or compared.loyalty_discount is null
        or compared.total_price is null,
        list_filter(
            [
                if(compared.subtotal_price is null, 'subtotal_price', null),
                if(compared.delivery_price is null, 'delivery_price', null),
                if(compared.tip is null, 'tip', null),
                if(compared.discount is null, 'discount', null),
                if(compared.loyalty_discount is null, 'loyalty_discount', null),
                if(compared.total_price is null, 'total_price', null),
            ],
            lambda part: part is not null
        ),
        []
    ) as missing_parts,
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
                when compared.total_rule is null
                    then 'total: no rule is in force'
                else 'total: a price field is missing'
            end,
            case
                when subtotal_residual is not null then null
                when compared.subtotal_rule is null
                    then 'subtotal: no rule is in force'
                when compared.subtotal_price is null then 'subtotal: not stated'
                when not compared.has_lines then 'subtotal: no lines'
                when not compared.has_line_sum then 'subtotal: a line has no amount'
                else 'subtotal: discount not stated'
            end
        )
    ) as reason,
from compared
left join causes on compared.order_id = causes.order_id
