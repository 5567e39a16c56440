-- Modifiers are those of core; amounts of a line's modifiers and price make its amount.
-- severity: blocking
with rules as (
    select
        rule,
        rule_parameters[1] = 1 as is_price_alone,
    from audit.formula_rules
    where rule_target = 'subtotal' and coalesce(rounded_per not in ('line', 'unit'), true)
),
sums as (
    select
        order_id, line_no, sum(modifier_amount) as modifiers_amount,
        count(*) - count(modifier_amount) as unvalued_count,
    from mart.order_line_modifiers group by order_id, line_no
),
wrong_lines as (
    select
        lines.order_id, lines.line_no,
        lines.line_amount - cast(core_lines.price as decimal(38, 4))
        * if(rules.is_price_alone, 1, lines.quantity)
        - coalesce(sums.modifiers_amount, 0) as residual, -- no modifiers add nothing
        coalesce(sums.unvalued_count, 0) as unvalued_count,
    from mart.order_lines as lines
    inner join core.order_lines as core_lines using (order_id, line_no)
    inner join audit.order_rules as in_force using (order_id)
    inner join rules on in_force.line_rule = rules.rule
    left join sums using (order_id, line_no)
    where lines.line_amount is not null
)

select
    order_id as entity_id,
    'line ' || line_no as location,
    cast(residual as decimal(38, 4)) as residual,
    'its modifiers and price make another amount' as detail,
from wrong_lines
where residual <> 0 or unvalued_count > 0
union all
select
    coalesce(core_modifiers.order_id, mart_modifiers.order_id) as entity_id,
    'line ' || coalesce(core_modifiers.line_no, mart_modifiers.line_no) || ', modifier '
        || coalesce(core_modifiers.modifier_no, mart_modifiers.modifier_no) as location,
    cast(null as decimal(38, 4)) as residual, 'not in both tables' as detail,
from core.order_line_modifiers as core_modifiers
full join mart.order_line_modifiers as mart_modifiers using (order_id, line_no, modifier_no)
where core_modifiers.order_id is null or mart_modifiers.order_id is null
