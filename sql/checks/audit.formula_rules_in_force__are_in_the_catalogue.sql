-- A rule that [formula] fixes by hand is a rule of audit.formula_rules.
-- severity: blocking
select
    cast(null as bigint) as entity_id,
    'the ' || part || ' rule of [formula]' as location,
    cast(null as decimal(18, 4)) as residual,
    rule as detail,
from audit.formula_rules_in_force
where source = 'setting' and form_no is null
