-- One row per candidate rule: a form, and how its amounts are rounded.
with

roundings as (
    select
        1 as rounding_no,
        null as mode,
        null as per,
        null as digits,
        null as unit,

    union all

    select
        2 + 12 * per_no + 3 * digits + mode_no as rounding_no,
        mode,
        per,
        digits,
        ['1.0', '0.1', '0.01', '0.001'][digits + 1] as unit,
    from (values (0, 'order'), (1, 'line'), (2, 'unit')) as places (per_no, per)
    cross join (values (0, 'half_up'), (1, 'half_even'), (2, 'down')) as modes (mode_no, mode)
    cross join range(4) as decimals (digits)
)

select
    -- keys
    forms.rule_target,
    forms.form_no,
    cast(roundings.rounding_no as bigint) as rounding_no,
    -- the rule
    form || '/' || if(per is null, 'unrounded', mode || '_' || digits || '_per_' || per)
        as rule,
    form_description
        || coalesce(
            '; rounded ' || replace(mode, '_', ' ') || ' to ' || digits || ' decimals per '
            || per,
            ''
        ) as rule_description,
    case coalesce(per, 'none')
        when 'none' then coalesce('sum(' || line_expression || ')', '') || rest_expression
        when 'order'
            then 'rounded(' || coalesce('sum(' || line_expression || ')', '')
                || rest_expression || ', ''' || mode || ''', ' || unit || ')'
        when 'line'
            then 'sum(rounded(' || line_expression || ', ''' || mode || ''', ' || unit
                || '))' || rest_expression
        else 'sum(quantity * rounded(' || unit_expression || ', ''' || mode || ''', ' || unit || '))' || rest_expression
    end as expression,
    -- its parameters
    forms.rule_parameters,
    forms.complexity,
    cast(roundings.digits as bigint) as kept_decimals,
    roundings.mode as rounding_mode,
    roundings.per as rounded_per,
from audit.formula_forms as forms
cross join roundings
where -- a total has no lines
    per is null
    or per = 'order'
    or (per = 'line' and forms.line_expression is not null)
    or (per = 'unit' and forms.unit_expression is not null)
