-- One row per candidate form: how lines could make the subtotal, and parts the total.
--
-- Source: none: the interface states no formula. The candidates are listed in evidence/candidates.py.
-- Caveats: a candidate is a guess; what the data show of it is in audit.formula_evidence.
--
-- key: rule_target, form_no
--
-- form_no >= 1 <= 85: Its number by rule target; 1 is the formula of the observed order.
-- line_expression VARCHAR null: What a line adds, in SQL; null for the total.
-- unit_expression VARCHAR null: What a unit of a line adds, in SQL; null where something is counted once a line.
-- rest_expression VARCHAR: What is added for the order, in SQL.
-- is_found BOOLEAN: Whether orders can support it. One that they cannot is in force where settings name it.

-- form_no is a form's place in fits of audit.subtotal_patterns and audit.total_patterns.
select
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
    is_found,
from raw.formula_forms
