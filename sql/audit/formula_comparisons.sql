-- One row per scope and candidate rule, beside the leader of the scope.
--
-- The leader is the rule that fits most orders, the simplest of equals. Two rules are
-- told apart by the orders that exactly one of them fits, and by those that neither
-- fits though they hold what the two forms disagree about.
with

-- The same lists of masks come in many scopes: they are written out once.
lists as (
    select
        row_number() over () as list_no,
        part,
        fits,
    from (select distinct part, fits from audit.formula_scopes) as distinct_fits
),

-- Numbered: adding up by one number is several times faster than by texts.
scopes as (
    select
        row_number() over () as scope_no,
        scope,
        scope_value,
        part,
        cast(sum(orders) as bigint) as orders,
    from audit.formula_scopes
    group by scope, scope_value, part
),

patterns as (
    select
        scopes.scope_no,
        scopes.part,
        patterns.tells,
        lists.list_no,
        patterns.orders,
    from audit.formula_scopes as patterns
    inner join lists on patterns.part = lists.part and patterns.fits = lists.fits
    inner join scopes
        on patterns.scope = scopes.scope
        and patterns.scope_value is not distinct from scopes.scope_value
        and patterns.part = scopes.part
),

forms as (
    select part, form_no, answers from audit.formula_rules where rounding_no = 1
),

form_pairs as (
    select
        a.part,
        a.form_no as leader_form_no,
        b.form_no as form_no,
        cast(
            list_sum(
                list_transform(
                    list_zip(a.answers, b.answers),
                    lambda pair, place: if(pair[1] <> pair[2], 1 << (place - 1), 0)
                )
            ) as bigint
        ) as differs,
    from forms as a
    inner join forms as b on a.part = b.part
),

masks as (
    select
        list_no,
        part,
        generate_subscripts(fits, 1) as rounding_no,
        unnest(fits) as mask,
    from lists
),

fitting as (
    select
        masks.list_no,
        forms.form_no,
        masks.rounding_no,
    from masks
    inner join forms on masks.part = forms.part
    where (masks.mask >> (forms.form_no - 1)) & 1 = 1
),

counted as (
    select
        patterns.scope_no,
        fitting.form_no,
        fitting.rounding_no,
        sum(patterns.orders) as fits,
    from fitting
    inner join patterns on fitting.list_no = patterns.list_no
    group by patterns.scope_no, fitting.form_no, fitting.rounding_no
),

leaders as (
    select
        scopes.*,
        coalesce(counted.form_no, 1) as form_no, -- where nothing fits: the simplest
        coalesce(counted.rounding_no, 1) as rounding_no,
        coalesce(counted.fits, 0) as fits,
    from scopes
    left join counted on scopes.scope_no = counted.scope_no
    qualify row_number() over (
        partition by scopes.scope_no
        order by counted.fits desc nulls last, counted.rounding_no, counted.form_no
    ) = 1
),

led as (
    select
        patterns.*,
        leaders.form_no as leader_form_no,
        leaders.rounding_no as leader_rounding_no,
        fitting.list_no is not null as leader_fits,
    from patterns
    inner join leaders on patterns.scope_no = leaders.scope_no
    left join fitting
        on patterns.list_no = fitting.list_no
        and leaders.form_no = fitting.form_no
        and leaders.rounding_no = fitting.rounding_no
),

-- Orders that a rule fits: with the leader, without it, and of the latter those that
-- hold what the two forms disagree about.
shared as (
    select
        led.scope_no,
        fitting.form_no,
        fitting.rounding_no,
        sum(led.orders) as fits,
        sum(led.orders) filter (where led.leader_fits) as shared_fits,
        sum(led.orders) filter (
            where not led.leader_fits and led.tells & form_pairs.differs <> 0
        ) as told_fits,
    from fitting
    inner join led on fitting.list_no = led.list_no
    inner join form_pairs
        on led.part = form_pairs.part
        and led.leader_form_no = form_pairs.leader_form_no
        and fitting.form_no = form_pairs.form_no
    group by led.scope_no, fitting.form_no, fitting.rounding_no
),

missed as (
    select
        scope_no,
        part,
        leader_form_no,
        tells,
        sum(orders) as orders,
    from led
    where not leader_fits
    group by scope_no, part, leader_form_no, tells
),

told as (
    select
        missed.scope_no,
        form_pairs.form_no,
        sum(missed.orders) as orders,
    from missed
    inner join form_pairs
        on missed.part = form_pairs.part
        and missed.leader_form_no = form_pairs.leader_form_no
        and missed.tells & form_pairs.differs <> 0
    group by missed.scope_no, form_pairs.form_no
)

select
    -- keys
    leaders.scope,
    leaders.scope_value,
    leaders.part,
    rules.form_no,
    rules.rounding_no,
    -- who leads
    cast(leaders.form_no as bigint) as leader_form_no,
    cast(leaders.rounding_no as bigint) as leader_rounding_no,
    form_pairs.differs,
    -- orders; no row is no order
    leaders.orders,
    cast(coalesce(shared.fits, 0) as bigint) as fits,
    cast(leaders.fits - coalesce(shared.shared_fits, 0) as bigint) as leader_alone,
    cast(
        coalesce(shared.fits, 0) - coalesce(shared.shared_fits, 0) as bigint
    ) as rule_alone,
    cast(coalesce(told.orders, 0) - coalesce(shared.told_fits, 0) as bigint) as neither,
from leaders
inner join audit.formula_rules as rules on leaders.part = rules.part
inner join form_pairs
    on leaders.part = form_pairs.part
    and leaders.form_no = form_pairs.leader_form_no
    and rules.form_no = form_pairs.form_no
left join shared
    on leaders.scope_no = shared.scope_no
    and rules.form_no = shared.form_no
    and rules.rounding_no = shared.rounding_no
left join told
    on leaders.scope_no = told.scope_no
    and rules.form_no = told.form_no
