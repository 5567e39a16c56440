-- One row per counted order of `orders_to_close` that no rule in force explains, and why.
--
-- An assumed rule is not in force. `why` names the population and what would decide.
with unexplained as (
    select
        orders.order_id, orders.currency, orders.total_price, sums.reason,
        unnest([
            if(
                sums.subtotal_residual is null and rules.subtotal_rule is null,
                {'target': 'subtotal', 'population_no': rules.subtotal_population_no},
                null
            ),
            if(
                rules.total_rule is null or rules.total_basis = 'assumed',
                {'target': 'total', 'population_no': rules.total_population_no},
                null
            ),
        ], recursive := true),
    from orders_to_close as orders
    inner join mart.order_reconciliation as sums using (order_id)
    inner join audit.order_rules as rules using (order_id)
    where
        orders.sale_class = 'counted'
        and (
            sums.verdict = 'indeterminate'
            or (sums.verdict = 'balanced' and rules.total_basis = 'assumed')
        )
)

select
    unexplained.order_id, any_value(unexplained.currency) as currency,
    any_value(unexplained.total_price) as total_price,
    coalesce(
        string_agg(
            concat_ws(
                ', decided by ',
                populations.rule_target || ' of ' || populations.scope || ' (' || populations.sentence || ')',
                nullif(array_to_string(populations.deciding_cases, ', '), '')
            ),
            '; '
            order by populations.rule_target
        ) filter (where populations.scope is not null),
        any_value(unexplained.reason)
    ) as why,
from unexplained
left join audit.formula_populations as populations
    on unexplained.target = populations.rule_target and unexplained.population_no = populations.population_no
group by unexplained.order_id
order by currency nulls last, why, order_id
