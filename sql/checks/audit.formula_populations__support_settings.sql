-- A rule that settings name is not refuted by the orders that it is about.
-- severity: warning
select
    cast(null as bigint) as entity_id,
    rule_target || ', [[formula.rule]] no. ' || rule_setting_no as location,
    cast(null as decimal(18, 4)) as residual, sentence as detail,
from audit.formula_populations
where rule_setting_no is not null and verdict = 'none'
