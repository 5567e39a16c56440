-- One row per population of orders and rule target: what its orders show of its rule.
--
-- gathered from: audit.formula_forms, audit.formula_parts, audit.formula_rules
-- gathered from: audit.order_components
-- gathered from: audit.order_line_sums, audit.order_rule_settings, raw.formula_settings
-- gathered from: audit.subtotal_patterns, audit.total_patterns, raw.settings
-- gathered from mart.orders: platform, dispatch_method, store_id, status, sale_class
-- gathered from mart.orders: business_date, currency, subtotal_price, delivery_price, tip
-- gathered from mart.orders: discount, loyalty_discount, total_price
select
    -- keys
    populations.rule_target,
    populations.population_no,
    -- which orders, and what they show
    populations.scope,
    populations.verdict,
    if(populations.verdict = 'none', null, rules.rule) as rule,
    populations.sentence,
    -- the rule
    populations.form_no,
    populations.rounding_no,
    populations.rule_setting_no,
    populations.is_assumable,
    populations.open_parts,
    populations.candidate_forms,
    -- how many orders
    populations.order_count,
    populations.fit_count,
    populations.min_fit_rate,
    populations.candidate_count,
    populations.needed_order_count,
    rivals.form as nearest_rival,
    populations.distinguishing_order_count,
    populations.distinguishing_fit_count,
    populations.deciding_cases,
    populations.residual_pattern,
    populations.residual_kind,
    populations.residual_value,
    populations.residual_base,
from raw.formula_populations as populations
inner join audit.formula_rules as rules
    on populations.rule_target = rules.rule_target
    and populations.form_no = rules.form_no
    and populations.rounding_no = rules.rounding_no
left join audit.formula_forms as rivals
    on populations.rule_target = rivals.rule_target
    and populations.rival_form_no = rivals.form_no
