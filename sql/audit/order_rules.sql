-- One row per order: the rules by which its lines make its subtotal, its parts its total.
--
-- An order has its population's rule unless candidates that remain there differ on something
-- that it holds. An order of a closed day keeps the rule it was closed with.
with

tested as (
    select
        orders.order_id,
        'subtotal' as rule_target,
        orders.subtotal_population_no as population_no,
        patterns.holds,
        patterns.fits,
    from audit.order_populations as orders
    left join audit.subtotal_patterns as patterns on orders.order_id = patterns.order_id

    union all

    select
        orders.order_id,
        'total' as rule_target,
        orders.total_population_no as population_no,
        patterns.holds,
        patterns.fits,
    from audit.order_populations as orders
    left join audit.total_patterns as patterns on orders.order_id = patterns.order_id
),

judged as (
    select
        tested.order_id,
        tested.rule_target,
        tested.population_no,
        tested.holds,
        tested.fits,
        if(populations.rule_setting_no is null, populations.rule, configured.rule) as found_rule,
        -- of an order whose parts are not all known any of them may be held
        if(
            configured.rule is not null,
            [],
            list_filter(
                populations.open_parts,
                lambda part: coalesce(tested.holds[part] = '1', true)
            )
        ) as found_open_parts,
        case
            when configured.rule is not null then 'configured'
            when populations.rule is not null and len(found_open_parts) = 0
                then if(populations.verdict = 'supported', 'supported', 'agreed')
            -- all that remain give the total that it states
            when populations.rule is not null
                and tested.rule_target = 'total'
                and list_bool_and(
                    list_transform(
                        populations.candidate_forms,
                        lambda form: tested.fits[form] = '1'
                    )
                ) then 'agreed'
            -- too few orders to judge a total: the formula of the observed order is assumed
            when populations.is_assumable then 'assumed'
        end as found_basis,
        if(found_basis = 'assumed', 'observed/unrounded', found_rule) as current_rule,
    from tested
    inner join audit.formula_populations as populations
        on tested.rule_target = populations.rule_target
        and tested.population_no = populations.population_no
    left join raw.formula_settings as configured
        on populations.rule_setting_no = configured.setting_no
),

-- an order of a closed day keeps what it was closed with, no rule included
decided as materialized (
    select
        judged.*,
        case
            when not closed.is_closed then judged.current_rule
            when judged.rule_target = 'subtotal' then closed.line_rule
            else closed.total_rule
        end as rule,
        case
            when not closed.is_closed then judged.found_basis
            when judged.rule_target = 'subtotal' then closed.subtotal_basis
            else closed.total_basis
        end as basis,
        if(closed.is_closed, closed.line_open_parts, judged.found_open_parts) as open_parts,
    from judged
    inner join audit.closed_order_rules as closed on judged.order_id = closed.order_id
)

select
    -- keys
    subtotals.order_id,
    -- of the lines
    if(subtotals.basis is null, null, subtotals.rule) as subtotal_rule,
    subtotals.basis as subtotal_basis,
    -- lines that hold none of the open parts have an amount all the same
    subtotals.rule as line_rule,
    subtotals.open_parts as line_open_parts,
    -- of the parts
    if(totals.basis is null, null, totals.rule) as total_rule,
    totals.basis as total_basis,
    -- what orders of open days are valued by
    if(subtotals.found_basis is null, null, subtotals.current_rule) as current_subtotal_rule,
    if(totals.found_basis is null, null, totals.current_rule) as current_total_rule,
    -- the evidence
    subtotals.population_no as subtotal_population_no,
    subtotals.holds as subtotal_holds,
    subtotals.fits as subtotal_fits,
    totals.population_no as total_population_no,
    totals.holds as total_holds,
    totals.fits as total_fits,
from decided as subtotals
inner join decided as totals on subtotals.order_id = totals.order_id
where subtotals.rule_target = 'subtotal' and totals.rule_target = 'total'
