-- One row per candidate form: how lines could make the subtotal, and parts the total.
--
-- form_no is a form's place in fits of audit.subtotal_patterns and audit.total_patterns.
select
    -- keys
    rule_target,
    form_no,
    -- the form
    form,
    form_description,
    line_expression,
    unit_expression,
    rest_expression,
    -- its parameters
    rule_parameters,
    complexity,
from raw.formula_forms
