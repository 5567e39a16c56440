-- One row per candidate rule: a form, and how its amounts are rounded.
--
-- Source: audit.formula_forms. Half up rounds away from zero, down towards zero.
-- Caveats: rounded() is a macro of the build: sql/functions/rounded.sql.
--
-- key: rule_target, form_no, rounding_no
--
-- form_no >= 1 <= 85
-- rounding_no >= 1 <= 37: The rounding, 1 for none.
-- rule not null: The rule's name, its form and its rounding; what [[formula.rule]] takes.
-- rule_description VARCHAR: The rule in plain words.
-- expression VARCHAR: The rule as SQL for the rows of one order: of a subtotal its lines in audit.order_line_sums with the discount, of a total its row in core.orders.
-- kept_decimals BIGINT null >= 0 <= 3: Decimals that are kept; null where nothing is rounded.
-- rounding_mode ENUM('down', 'half_even', 'half_up') null: How: half_up, half_even or down; null for not at all.
-- rounded_per ENUM('line', 'order', 'unit') null: What is rounded: each unit, each line, or the order's sum.
select
    rule_target,
    form_no,
    rounding_no,
    -- the rule
    rule,
    rule_description,
    expression,
    -- its parameters
    rule_parameters,
    complexity,
    kept_decimals,
    rounding_mode,
    rounded_per,
from raw.formula_rules
