-- One row per order: the rules by which its lines make its subtotal, and its parts its total.
--
-- Source: audit.formula_populations, workings.subtotal_patterns, workings.total_patterns, and the ledger for closed days,
-- which keep the rules they were closed with until they are reopened.
-- Caveats: no rule where every candidate is refuted, or where candidates remain that treat what the order holds
-- differently, or where many orders are off by the same. With too few orders to judge any, the total of the observed order is assumed.
--
-- key: order_id
-- scope: order
--
-- subtotal_basis ENUM('agreed', 'assumed', 'closed', 'configured', 'supported'): configured: settings name the rule. supported: the orders support it. agreed: all candidates that remain give the same amount. assumed: too few orders to judge. closed: an order that came after its day was closed has the day's. Null without a rule.
-- line_rule: The rule of its lines, those that hold an open part excepted; null without one.
-- line_open_parts not null: part_no of what the order holds and no rule is known for: workings.formula_parts.
-- total_basis ENUM('agreed', 'assumed', 'closed', 'configured', 'supported'): configured: settings name the rule. supported: the orders support it. agreed: all candidates that remain give the same amount. assumed: too few orders to judge. closed: an order that came after its day was closed has the day's. Null without a rule.
-- current_subtotal_rule VARCHAR null: The rule that it would have if its day were not closed.
-- current_total_rule VARCHAR null: The same of its total.
-- subtotal_holds VARCHAR null: What the order holds: character part_no of workings.formula_parts is 1 where it holds that part, else 0. Null where it cannot be compared.
-- subtotal_fits VARCHAR null: Which forms fit: character form_no of workings.formula_forms is 1 where that form gives the price stated, else 0. Null where it cannot be compared.
-- total_holds VARCHAR null: What the order holds: character part_no of workings.formula_parts is 1 where it holds that part, else 0. Null where it cannot be compared.
-- total_fits VARCHAR null: Which forms fit: character form_no of workings.formula_forms is 1 where that form gives the price stated, else 0. Null where it cannot be compared.

-- An order has its population's rule unless candidates that remain there differ on something
-- that it holds. An order of a closed day keeps the rule it was closed with.
with populations as (
    -- no counts: where nothing but these changed, no order does
    select
        populations.rule_target, populations.population_no, populations.verdict, populations.rule,
        populations.open_parts, populations.candidate_forms, populations.is_assumable,
        configured.rule as configured_rule,
        coalesce(configured.rule, populations.rule) as found_rule,
    from audit.formula_populations as populations
    left join raw.formula_settings as configured on populations.rule_setting_no = configured.setting_no
),
judged as (
    select
        orders.*,
        lines.holds as subtotal_holds, lines.fits as subtotal_fits, parts.holds as total_holds,
        parts.fits as total_fits,
        open_parts_held(subtotals, lines.holds) as found_open_parts,
        subtotals.found_rule as found_line_rule,
        if(len(found_open_parts) = 0, basis_of(subtotals), null) as found_subtotal_basis,
        case
            -- many are off in the same way: whether they are right is unknown
            when alike.order_id is not null then null
            when totals.found_rule is not null
                and len(open_parts_held(totals, parts.holds)) = 0 then basis_of(totals)
            -- all that remain give the total that it states
            when totals.rule is not null
                and list_bool_and(
                    list_transform(totals.candidate_forms, lambda form: parts.fits[form] = '1')
                ) then 'agreed'
            -- too few orders to judge a total: the formula of the observed order is assumed
            when totals.is_assumable then 'assumed'
        end as found_total_basis,
        if(found_total_basis = 'assumed', 'observed/unrounded', totals.found_rule) as found_total_rule,
    from workings.order_populations as orders
    left join workings.subtotal_patterns as lines using (order_id)
    left join workings.total_patterns as parts using (order_id)
    left join workings.orders_off_alike as alike using (order_id)
    inner join populations as subtotals
        on subtotals.rule_target = 'subtotal' and orders.subtotal_population_no = subtotals.population_no
    inner join populations as totals
        on totals.rule_target = 'total' and orders.total_population_no = totals.population_no
),
-- an order of a closed day keeps what it was closed with, no rule included
decided as (
    select
        judged.*,
        closed.order_id is not null as is_closed,
        if(is_closed, closed.line_rule, found_line_rule) as line_rule,
        if(is_closed, closed.line_open_parts, found_open_parts) as line_open_parts,
        if(is_closed, closed.subtotal_basis, found_subtotal_basis) as subtotal_basis,
        if(is_closed, closed.total_rule, found_total_rule) as total_rule,
        if(is_closed, closed.total_basis, found_total_basis) as total_basis,
    from judged left join workings.closed_order_rules as closed using (order_id)
)

select
    order_id,
    if(subtotal_basis is null, null, line_rule) as subtotal_rule,
    subtotal_basis,
    -- lines that hold none of the open parts have an amount all the same
    line_rule, line_open_parts,
    if(total_basis is null, null, decided.total_rule) as total_rule,
    total_basis,
    if(found_subtotal_basis is null, null, found_line_rule) as current_subtotal_rule,
    if(found_total_basis is null, null, found_total_rule) as current_total_rule,
    subtotal_population_no, subtotal_holds, subtotal_fits, total_population_no, total_holds, total_fits,
from decided
