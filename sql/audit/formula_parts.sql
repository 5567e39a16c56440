-- One row per thing that an order can hold and that candidate forms treat differently.
--
-- part_no is its place in holds of audit.subtotal_patterns and audit.total_patterns. What
-- is_tested refutes forms; the others only divide orders. parameter_no is the place in
-- rule_parameters of audit.formula_forms that says what a form does with it.
select
    -- keys
    rule_target,
    part_no,
    -- what it is
    part,
    deciding_case,
    is_tested,
    parameter_no,
from raw.formula_parts
