-- A rule that settings name is a rule of audit.formula_rules.
-- severity: blocking
-- scope: all
select
    cast(null as bigint) as entity_id,
    'the ' || settings.rule_target || ' rule of [formula] no. ' || settings.setting_no as location,
    cast(null as decimal(18, 4)) as residual, settings.rule as detail,
from raw.formula_settings as settings
left join audit.formula_rules as rules using (rule_target, rule)
where rules.rule is null
