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
        len(residuals) as kept,
        generate_subscripts(residuals, 1) as place,
        unnest(residuals) as residual,
        unnest(largest) as largest,
    from days
),

placed as (
    select
        business_month,
        scope,
        scope_value,
        part,
        kept,
        place,
        sum(residual) as residual,
        max(largest) as largest,
    from spread
    group by business_month, scope, scope_value, part, kept, place
),

-- of 20 each stands for the forms that differ by other actions alone, every fourth
named as (
    select
        business_month,
        scope,
        scope_value,
        part,
        unnest(
            case
                when kept <> 20 then [place]
                when place % 5 = 1 then [place // 5 * 13 + 1]
                else list_transform(
                    [0, 4, 8],
                    lambda further: (place - 1) // 5 * 13 + 1 + (place - 1) % 5 + further
                )
            end
        ) as form_no,
        residual,
        largest,
    from placed
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
    from named
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
