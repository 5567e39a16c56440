-- One row per thing that an order can hold and that candidate forms treat differently.
--
-- Source: none; listed in evidence/candidates.py.
--
-- key: rule_target, part_no
--
-- part_no not null >= 1 <= 7: Its place in holds of audit.order_rules.
-- part: Its name.
-- deciding_case VARCHAR: Which orders show what forms do with it.
-- is_tested BOOLEAN: Whether orders that hold it refute forms; else it only divides orders.
-- parameter_no BIGINT null: Its place in rule_parameters of audit.formula_forms; null without one.

-- part_no is its place in holds of audit.subtotal_patterns and audit.total_patterns. What
-- is_tested refutes forms; the others only divide orders. parameter_no is the place in
-- rule_parameters of audit.formula_forms that says what a form does with it.
select
    rule_target,
    part_no,
    -- what it is
    part,
    deciding_case,
    is_tested,
    parameter_no,
from raw.formula_parts
