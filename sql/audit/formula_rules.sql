-- One row per candidate rule: a form, and how its amounts are rounded.
select
    -- keys
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
