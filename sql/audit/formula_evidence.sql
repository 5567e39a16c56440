-- One row per scope and candidate rule worth reading: what bears it out, the verdict.
--
-- A rule is named, supported, when the leader of the scope holds in all but the
-- tolerated noise of the orders tested, and of those that tell it from each rival, of
-- which there must be enough. A share is too low when it lies below the tolerated one by
-- more than four standard deviations of chance: many scopes and rivals are looked at.
-- Rules that differ in rounding alone, or in what actions other than add do, are no rivals
-- until orders tell them apart: most services never send such an order, and until one
-- comes they give the same amounts.
with

settings as (
    select
        formula_total_rule as total_rule,
        formula_subtotal_rule as subtotal_rule,
        formula_min_distinguishing_orders as min_distinguishing_orders,
        formula_max_violation_rate as noise,
    from raw.settings
),

questions (part, bit, decider) as (
    values
        ('subtotal', 1, 'an order with a priced line of quantity other than 1'),
        ('subtotal', 2, 'an order with a priced modifier'),
        ('subtotal', 4, 'an order with quantity above 1 and a priced modifier'),
        ('subtotal', 8, 'an order with a priced modifier of quantity above 1'),
        ('subtotal', 16, 'an order with a priced modifier of another action than add'),
        ('subtotal', 32, 'an order with a discount'),
        ('subtotal', 0, 'an order with prices of more decimals than a rounding keeps'),
        ('total', 1, 'an order with a subtotal'),
        ('total', 2, 'an order with a delivery charge'),
        ('total', 4, 'an order with a tip'),
        ('total', 8, 'an order with a discount'),
        ('total', 16, 'an order with a loyalty discount'),
        ('total', 0, 'an order whose parts have more decimals than a rounding keeps')
),

compared as (
    select
        comparisons.*,
        comparisons.form_no = leader_form_no
            and comparisons.rounding_no = leader_rounding_no as is_leader,
        leader_alone + rule_alone + neither as telling,
        -- differs in rounding, or in actions other than add, alone
        differs = 0 or (comparisons.part = 'subtotal' and differs = 16) as is_open,
        rules.rule,
        rules.sentence,
        if(comparisons.part = 'total', total_rule, subtotal_rule) as fixed_rule,
        min_distinguishing_orders,
        (1 - noise) * orders - 4 * sqrt(noise * (1 - noise) * orders) as bound_of_all,
        (1 - noise) * telling - 4 * sqrt(noise * (1 - noise) * telling) as bound,
    from audit.formula_comparisons as comparisons
    inner join audit.formula_rules as rules
        on comparisons.part = rules.part
        and comparisons.form_no = rules.form_no
        and comparisons.rounding_no = rules.rounding_no
    cross join settings
),

judged as (
    select
        *,
        case
            when is_leader then null
            when telling >= min_distinguishing_orders and leader_alone >= bound then 'beaten'
            when telling >= min_distinguishing_orders then 'standing'
            when telling > 0 then 'few'
            else 'untold'
        end as rivalry,
        not is_leader and rivalry <> 'beaten' and (rivalry = 'standing' or not is_open)
            as is_in_the_way,
    from compared
),

-- The leader of each scope beside its closest rival.
leaders as (
    select
        scope,
        scope_value,
        part,
        max(fits) filter (where is_leader) as leader_fits,
        any_value(orders) as tested,
        tested >= any_value(min_distinguishing_orders) as is_enough,
        leader_fits >= any_value(bound_of_all) as is_holding,
        count(*) filter (where is_in_the_way and rivalry = 'standing') as standing,
        count(*) filter (where is_in_the_way and rivalry <> 'standing') as undecided,
        is_enough and is_holding and standing + undecided = 0 as is_supported,
        arg_min(
            struct_pack(
                rule := rule,
                telling := telling,
                alone := leader_alone,
                form_no := form_no,
                rounding_no := rounding_no
            ),
            (
                not is_in_the_way,
                rivalry = 'untold' and is_open,
                telling,
                rounding_no,
                form_no
            )
        ) filter (where not is_leader) as closest,
        list_sort(
            list_distinct(
                list(differs) filter (
                    where (is_in_the_way and rivalry <> 'standing')
                    or (is_open and rivalry = 'few')
                )
            )
        ) as unanswered,
        any_value(rule) filter (where is_leader) as leader_rule,
    from judged
    group by scope, scope_value, part
),

deciders as (
    select
        leaders.scope,
        leaders.scope_value,
        leaders.part,
        list(questions.decider order by questions.bit) as would_decide,
    from leaders
    inner join questions
        on leaders.part = questions.part
        and list_bool_or(
            list_transform(
                leaders.unanswered,
                lambda asked: asked = questions.bit
                or (
                    asked & questions.bit <> 0
                    -- any of its questions would do, where none of them stands alone
                    and not list_bool_or(
                        list_transform(
                            leaders.unanswered,
                            lambda other: bit_count(other) = 1 and other & asked <> 0
                        )
                    )
                )
            )
        )
    group by leaders.scope, leaders.scope_value, leaders.part
),

shown as (
    select
        judged.*,
        leaders.* exclude (scope, scope_value, part),
    from judged
    inner join leaders
        on judged.scope = leaders.scope
        and judged.scope_value is not distinct from leaders.scope_value
        and judged.part = leaders.part
    inner join leaders as wide on wide.scope = 'all' and judged.part = wide.part
    where
        judged.rounding_no in (1, judged.leader_rounding_no)
        or judged.form_no = judged.leader_form_no
        or judged.rule in (judged.fixed_rule, leaders.closest.rule, wide.leader_rule)
),

counterexamples as (
    select
        shown.scope,
        shown.scope_value,
        shown.part,
        shown.form_no,
        shown.rounding_no,
        list_sort(flatten(min(patterns.first_order_ids, 3)))[:3] as counterexamples,
    from shown
    inner join audit.formula_scopes as patterns
        on shown.scope = patterns.scope
        and shown.scope_value is not distinct from patterns.scope_value
        and shown.part = patterns.part
        and (patterns.fits[shown.rounding_no] >> (shown.form_no - 1)) & 1 = 0
    group by
        shown.scope,
        shown.scope_value,
        shown.part,
        shown.form_no,
        shown.rounding_no
),

-- Of 20 each stands for the forms that differ by other actions alone, every fourth.
forms as (
    select
        part,
        has_other,
        form_no,
        case
            when part = 'total' or has_other then form_no
            else (form_no - 1) // 13 * 5
                + if((form_no - 1) % 13 = 0, 1, 2 + ((form_no - 1) % 13 - 1) % 4)
        end as place,
    from (values (false), (true)) as others (has_other)
    cross join (select distinct part, form_no from audit.formula_rules) as rules
),

cells as (
    select
        business_month,
        store_id,
        platform,
        dispatch_method,
        part,
        has_other,
        coalesce(currency, '') as currency,
        has_currencies,
        generate_subscripts(residuals, 1) as place,
        unnest(residuals) as residual,
        unnest(largest) as largest,
    from audit.monthly_formula_residuals
),

spread as (
    select
        case
            when grouping(store_id) = 0 then 'store'
            when grouping(platform) = 0 then 'platform'
            when grouping(dispatch_method) = 0 then 'dispatch_method'
            when grouping(business_month) = 0 then 'month'
            else 'all'
        end as scope,
        case
            when grouping(store_id) = 0 then cast(store_id as varchar)
            when grouping(platform) = 0 then platform
            when grouping(dispatch_method) = 0 then dispatch_method
            when grouping(business_month) = 0 then strftime(business_month, '%Y-%m')
            else 'all'
        end as scope_value,
        part,
        has_other,
        place,
        min(currency) as currency,
        max(currency) as other_currency,
        bool_or(has_currencies) as has_currencies,
        sum(residual) as residual,
        max(largest) as largest,
    from cells
    group by part, has_other, place, grouping sets (
        (), (store_id), (platform), (dispatch_method), (business_month)
    )
),

added as (
    select
        spread.scope,
        spread.scope_value,
        spread.part,
        forms.form_no,
        -- several currencies, or some without one: amounts that do not add
        bool_or(has_currencies) or min(currency) <> max(other_currency) as is_mixed,
        nullif(min(currency), '') as currency,
        sum(residual) as residual_sum,
        max(largest) as largest_residual,
    from spread
    inner join forms
        on spread.part = forms.part
        and spread.has_other = forms.has_other
        and spread.place = forms.place
    group by spread.scope, spread.scope_value, spread.part, forms.form_no
),

residuals as (
    select
        scope,
        scope_value,
        part,
        form_no,
        if(is_mixed, null, currency) as currency,
        if(is_mixed, null, residual_sum) as residual_sum,
        largest_residual,
    from added
)

select
    -- keys
    shown.scope,
    shown.scope_value,
    shown.part,
    shown.rule,
    -- the rule
    shown.sentence,
    shown.rule = shown.fixed_rule as is_fixed,
    -- the answer
    case
        when is_leader and is_supported then 'supported'
        when is_leader then 'undecided'
        when telling >= min_distinguishing_orders and rule_alone < bound then 'refuted'
        when tested >= min_distinguishing_orders and fits < bound_of_all then 'refuted'
        when telling = 0 then 'untold'
        else 'undecided'
    end as verdict,
    case
        when not is_leader then null
        when not is_enough
            then tested || ' orders state what it takes, ' || min_distinguishing_orders
                || ' are asked for'
        when not is_holding
            then 'no candidate holds in this scope: the best one fits ' || fits
                || ' of ' || tested || ' orders'
        when standing > 0
            then 'fits ' || closest.alone || ' of ' || closest.telling
                || ' orders that tell it from its closest rival: too few'
        when undecided > 0
            then 'too few orders tell it from its closest rival: ' || closest.telling
                || ' where ' || min_distinguishing_orders || ' are asked for'
        else 'fits ' || fits || ' of ' || tested || ' orders, and ' || closest.alone
            || ' of ' || closest.telling || ' that tell it from its closest rival'
    end as reason,
    if(is_leader, coalesce(deciders.would_decide, []), null) as would_decide,
    -- orders
    tested as orders,
    fits,
    fits / tested as fit_rate,
    if(is_leader, closest.rule, leader_rule) as closest_rival,
    if(is_leader, closest.telling, telling) as telling_orders,
    if(is_leader, closest.alone, rule_alone) as telling_fits,
    telling_fits / nullif(telling_orders, 0) as telling_fit_rate,
    coalesce(counterexamples.counterexamples, []) as counterexamples,
    -- money
    residuals.currency,
    residuals.residual_sum,
    residuals.largest_residual,
from shown
left join deciders
    on shown.scope = deciders.scope
    and shown.scope_value is not distinct from deciders.scope_value
    and shown.part = deciders.part
left join counterexamples
    on shown.scope = counterexamples.scope
    and shown.scope_value is not distinct from counterexamples.scope_value
    and shown.part = counterexamples.part
    and shown.form_no = counterexamples.form_no
    and shown.rounding_no = counterexamples.rounding_no
left join residuals
    on shown.scope = residuals.scope
    and shown.scope_value is not distinct from residuals.scope_value
    and shown.part = residuals.part
    and shown.form_no = residuals.form_no
