-- One row per month of business days, scope and part of the price: what each form leaves over.
with

days as (
    select
        cast(date_trunc('month', business_date) as date) as business_month,
        scope,
        scope_value,
        part,
        orders,
        coalesce(currency, '') as currency,
        has_currencies,
        residuals,
        largest,
    from audit.formula_residuals
),

counted as (
    select
        business_month,
        scope,
        scope_value,
        part,
        cast(sum(orders) as bigint) as orders,
        min(currency) as currency,
        bool_or(has_currencies) or min(currency) <> max(currency) as has_currencies,
    from days
    group by business_month, scope, scope_value, part
),

spread as (
    select
        business_month,
        scope,
        scope_value,
        part,
        generate_subscripts(residuals, 1) as form_no,
        unnest(residuals) as residual,
        unnest(largest) as largest,
    from days
),

added as (
    select
        business_month,
        scope,
        scope_value,
        part,
        form_no,
        cast(sum(residual) as decimal(38, 4)) as residual,
        max(largest) as largest,
    from spread
    group by business_month, scope, scope_value, part, form_no
),

listed as (
    select
        business_month,
        scope,
        scope_value,
        part,
        list(residual order by form_no) as residuals,
        list(largest order by form_no) as largest,
    from added
    group by business_month, scope, scope_value, part
)

select
    -- keys
    counted.business_month,
    counted.scope,
    counted.scope_value,
    counted.part,
    -- how many
    counted.orders,
    -- money
    nullif(counted.currency, '') as currency,
    counted.has_currencies,
    listed.residuals,
    listed.largest,
from counted
inner join listed
    on counted.business_month is not distinct from listed.business_month
    and counted.scope = listed.scope
    and counted.scope_value is not distinct from listed.scope_value
    and counted.part = listed.part
