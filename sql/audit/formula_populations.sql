-- One row per population of orders and rule target: what its orders show of its rule.
--
-- Source: workings.subtotal_patterns, workings.total_patterns, mart.orders and [formula]. Orders that one form does not
-- explain are divided by where they come from, their days or what they hold, as long as that explains more.
-- Caveats: supported means that the rule holds here and that its rivals fail, not that the partner promised it.
--
-- key: rule_target, population_no
-- gathered from: workings.formula_forms, workings.formula_parts, audit.formula_rules
-- gathered from: workings.order_components
-- gathered from: workings.order_line_sums, workings.order_rule_settings, raw.formula_settings
-- gathered from: workings.subtotal_patterns, workings.total_patterns, raw.settings
-- gathered from mart.orders: platform, dispatch_method, store_id, status, sale_class, weekday
-- gathered from mart.orders: business_date, currency, subtotal_price, delivery_price, tip
-- gathered from mart.orders: discount, loyalty_discount, total_price
-- gathered from mart.orders: line_count, unit_count, hour
--
-- verdict ENUM('agreed', 'compatible', 'none', 'not_tested', 'supported', 'undecided'): supported: the rule fits a share of orders that is surely as high as settings ask for, and its rivals fail. agreed: the same, but rivals remain which differ in what hardly any order holds. compatible: not refuted, but the share is not sure yet. undecided: rivals remain which differ in what many orders hold. none: every candidate is refuted. not_tested: no order can be compared.
-- rule: The rule's name, its form and its rounding; what [[formula.rule]] takes. Null where none holds.
-- sentence VARCHAR: The verdict in one sentence.
-- form_no: The form that fits best: workings.formula_forms.
-- rounding_no: Its rounding: audit.formula_rules.
-- rule_setting_no BIGINT null: The rule of the settings: its place among [[formula.rule]], from 1; the two plain ones come first. Null where the orders decide.
-- is_assumable BOOLEAN: Whether so few orders can be judged that the observed total is assumed.
-- open_parts: part_no of what the candidates that remain treat differently: workings.formula_parts.
-- candidate_forms BIGINT[]: form_no of the candidates that remain.
-- order_count >= 0: How many orders can be judged.
-- fit_count: How many of them the form fits; of totals with its rounding.
-- min_fit_rate DOUBLE >= 0 <= 1: The lower bound, at 95%, of the share that fits.
-- candidate_count BIGINT >= 0: How many forms are not refuted.
-- needed_order_count BIGINT null >= 0: How many more orders, fitting at the same rate, would support it; null where that is not what is lacking.
-- nearest_rival VARCHAR null: The form that is hardest to refute beside it.
-- distinguishing_order_count BIGINT >= 0: How many orders tell the two apart.
-- distinguishing_fit_count BIGINT >= 0: How many of those the form fits.
-- deciding_cases VARCHAR[]: Which orders would decide what is open.
-- residual_pattern VARCHAR null: What the orders that the form does not fit have in common.
-- residual_kind ENUM('at_least', 'at_most', 'constant', 'negated', 'share', 'step', 'unit', 'zero') null: zero: they state zero. unit: they are off by the smallest unit of their currency. negated: they state the negative. constant, share, step: they are off by one amount, by a share of a base, by less than the step that their prices are multiples of. at_most, at_least: by a share of a base, or by residual_bound where the share is more, or less.
-- residual_value DECIMAL(18,6) null: That amount, share or step.
-- residual_base VARCHAR null: The base of a share.
-- residual_bound DECIMAL(18,4) null: The amount that a share is at most, or at least.
-- residual_condition VARCHAR null: The condition that all orders which are off in this way meet, and no other; null if there is none, or none is needed.
-- is_pattern_open BOOLEAN: Whether orders that are off in this way are indeterminate: settings name no rule here, or one that most orders follow.
-- settlement VARCHAR null: Settings that would settle it, ready to paste, after a comment that says how many orders add up by them and how many do not; in force only where a person sets them.
select
    populations.rule_target, populations.population_no, populations.scope, populations.verdict,
    if(populations.verdict in ('none', 'not_tested'), null, rules.rule) as rule,
    populations.sentence, populations.form_no, populations.rounding_no, populations.rule_setting_no,
    populations.is_assumable, populations.open_parts, populations.candidate_forms, populations.order_count,
    populations.fit_count, populations.min_fit_rate, populations.candidate_count,
    populations.needed_order_count, rivals.form as nearest_rival, populations.distinguishing_order_count,
    populations.distinguishing_fit_count, populations.deciding_cases, populations.residual_pattern,
    populations.residual_kind, populations.residual_value, populations.residual_base,
    populations.residual_bound, populations.residual_condition,
    populations.residual_kind is not null
    and (
        populations.rule_setting_no is null or 2 * populations.fit_count > populations.order_count
    ) as is_pattern_open,
    populations.settlement,
from raw.formula_populations as populations
inner join audit.formula_rules as rules using (rule_target, form_no, rounding_no)
left join workings.formula_forms as rivals
    on populations.rule_target = rivals.rule_target and populations.rival_form_no = rivals.form_no
