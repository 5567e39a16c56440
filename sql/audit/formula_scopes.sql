-- One row per scope, part of the price, and what orders tell and fit, over all days.
with

patterns as (
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
        tells,
        fits,
        cast(sum(orders) as bigint) as orders,
        -- the lists that begin lowest hold the lowest
        list_sort(flatten(min(first_order_ids, 3)))[:3] as first_order_ids,
    from audit.monthly_formula_patterns
    group by part, tells, fits, grouping sets (
        (), (store_id), (platform), (dispatch_method), (business_month)
    )
),

roundings as (
    select
        part,
        list(kept_decimals order by rounding_no) as kept_decimals,
    from audit.formula_rules
    where form_no = 1
    group by part
),

-- Written out: a mask for every rounding.
whole as (
    select
        patterns.* exclude (tells, fits),
        patterns.tells & 63 as tells,
        if(
            len(patterns.fits) > 1,
            patterns.fits,
            -- to as many decimals as there are: nothing changes; to fewer: nothing fits
            list_transform(
                roundings.kept_decimals,
                lambda kept: if(
                    kept < patterns.tells >> 6,
                    0,
                    patterns.fits[1]
                )
            )
        ) as fits,
    from patterns
    inner join roundings on patterns.part = roundings.part
)

select
    -- keys
    scope,
    scope_value,
    part,
    tells,
    fits,
    -- how many
    cast(sum(orders) as bigint) as orders,
    list_sort(flatten(min(first_order_ids, 3)))[:3] as first_order_ids,
from whole
group by scope, scope_value, part, tells, fits
