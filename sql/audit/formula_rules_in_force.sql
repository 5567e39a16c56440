-- One row per scope in which a rule is in force, or in which the wider rule is not.
--
-- A rule fixed in [formula] is in force everywhere. Else the one that the evidence of
-- all orders supports, but for platforms (dispatch methods, stores, months) that refute
-- it. Else, where all orders support none, what supports one in the first of these
-- divisions that has any. Where none is supported the observed total is assumed, but for
-- a row without a rule: orders refute it, and follow another that too few of them tell
-- from its rivals. Counts are left out on purpose: the rows change when the
-- answer does.
with

fixed as (
    select
        'subtotal' as part,
        formula_subtotal_rule as rule,
    from raw.settings
    where formula_subtotal_rule <> ''

    union all

    select
        'total' as part,
        formula_total_rule as rule,
    from raw.settings
    where formula_total_rule <> ''
),

evidence as (
    select
        scope,
        scope_value,
        part,
        rule,
        verdict,
        reason is not null as is_leader,
        fit_rate,
        list_contains(
            would_decide,
            'an order with a priced modifier of another action than add'
        ) as is_action_open,
    from audit.formula_evidence
),

supported as (
    select * from evidence where verdict = 'supported'
),

wide as (
    select * from supported where scope = 'all'
),

divisions (scope, rank) as (
    values ('platform', 1), ('dispatch_method', 2), ('store', 3), ('month', 4)
),

exceptions as (
    select
        refuted.scope,
        refuted.scope_value,
        refuted.part,
        supported.rule,
        coalesce(supported.is_action_open, false) as is_action_open,
    from wide
    inner join evidence as refuted
        on wide.part = refuted.part
        and wide.rule = refuted.rule
        and refuted.verdict = 'refuted'
    left join supported
        on refuted.scope = supported.scope
        and refuted.scope_value is not distinct from supported.scope_value
        and refuted.part = supported.part
),

divided as (
    select
        supported.scope,
        supported.scope_value,
        supported.part,
        supported.rule,
        supported.is_action_open,
    from supported
    inner join divisions on supported.scope = divisions.scope
    where supported.part not in (select part from wide)
    qualify dense_rank() over (partition by supported.part order by divisions.rank) = 1
),

overruled as (
    select
        assumed.scope,
        assumed.scope_value,
        assumed.part,
        cast(null as varchar) as rule,
        false as is_action_open,
    from evidence as assumed
    inner join evidence as leader
        on leader.is_leader
        and assumed.scope = leader.scope
        and assumed.part = leader.part
    inner join raw.settings as settings
        on leader.fit_rate >= 1 - settings.formula_max_violation_rate
    where
        assumed.scope = 'all'
        and assumed.part = 'total'
        and assumed.rule = 'observed/unrounded'
        and assumed.verdict = 'refuted'
        and assumed.part not in (select part from wide)
),

found as (
    select scope, scope_value, part, rule, is_action_open from wide
    union all
    select scope, scope_value, part, rule, is_action_open from exceptions
    union all
    select scope, scope_value, part, rule, is_action_open from divided
    union all
    select scope, scope_value, part, rule, is_action_open from overruled
),

decided as (
    select
        'all' as scope,
        'all' as scope_value,
        part,
        rule,
        false as is_action_open,
        'setting' as source,
    from fixed

    union all

    select
        scope,
        scope_value,
        part,
        rule,
        is_action_open,
        'evidence' as source,
    from found
    where part not in (select part from fixed)
)

select
    -- keys
    decided.part,
    decided.scope,
    decided.scope_value,
    -- the rule
    decided.rule,
    rules.form_no,
    rules.rounding_no,
    rules.answers,
    rules.kept_decimals,
    rules.rounded_per,
    decided.source,
    decided.is_action_open,
from decided
left join audit.formula_rules as rules
    on decided.part = rules.part
    and decided.rule = rules.rule
