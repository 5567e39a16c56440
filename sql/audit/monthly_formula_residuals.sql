-- One row per month of business days, store, platform, dispatch method, part of the price,
-- and whether priced modifiers of other actions than add are in it: what each form leaves over.
with

days as (
    select
        cast(date_trunc('month', business_date) as date) as business_month,
        * exclude (business_date, currency),
        coalesce(currency, '') as currency,
    from audit.formula_residuals
),

counted as (
    select
        row_number() over () as cell_no,
        business_month,
        store_id,
        platform,
        dispatch_method,
        part,
        has_other,
        cast(sum(orders) as bigint) as orders,
        min(currency) as currency,
        bool_or(has_currencies) or min(currency) <> max(currency) as has_currencies,
    from days
    group by business_month, store_id, platform, dispatch_method, part, has_other
),

-- numbered: adding up by one number is several times faster than by six columns
spread as (
    select
        counted.cell_no,
        generate_subscripts(days.residuals, 1) as place,
        unnest(days.residuals) as residual,
        unnest(days.largest) as largest,
    from days
    inner join counted
        on days.business_month is not distinct from counted.business_month
        and days.store_id is not distinct from counted.store_id
        and days.platform is not distinct from counted.platform
        and days.dispatch_method is not distinct from counted.dispatch_method
        and days.part = counted.part
        and days.has_other = counted.has_other
),

added as (
    select
        cell_no,
        place,
        sum(residual) as residual,
        max(largest) as largest,
    from spread
    group by cell_no, place
),

listed as (
    select
        cell_no,
        list(cast(residual as decimal(38, 4)) order by place) as residuals,
        list(largest order by place) as largest,
    from added
    group by cell_no
)

select
    -- keys
    counted.business_month,
    counted.store_id,
    counted.platform,
    counted.dispatch_method,
    counted.part,
    counted.has_other,
    -- how many
    counted.orders,
    -- money
    nullif(counted.currency, '') as currency,
    counted.has_currencies,
    listed.residuals,
    listed.largest,
from counted
inner join listed on counted.cell_no = listed.cell_no
