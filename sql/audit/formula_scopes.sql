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
        list_sort(flatten(list(first_order_ids)))[:3] as first_order_ids,
    from audit.monthly_formula_patterns
    group by part, tells, fits, grouping sets (
        (), (store_id), (platform), (dispatch_method), (business_month)
    )
),

roundings as (
    select distinct part, rounding_no, kept_decimals from audit.formula_rules
),

-- Written out: a mask for every rounding.
masks as (
    select
        patterns.*,
        roundings.rounding_no,
        case
            when roundings.rounding_no = 1 then fits[1]
            when len(fits) > 1 then fits[roundings.rounding_no]
            -- to as many decimals as there are: nothing changes; to fewer: nothing fits
            when roundings.kept_decimals >= tells >> 6 then fits[1]
            else 0
        end as mask,
    from patterns
    inner join roundings on patterns.part = roundings.part
),

whole as (
    select
        scope,
        scope_value,
        part,
        tells & 63 as tells,
        list(mask order by rounding_no) as fits,
        any_value(orders) as orders, -- the same for every rounding
        any_value(first_order_ids) as first_order_ids,
    from masks
    group by scope, scope_value, part, masks.tells, masks.fits
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
    list_sort(flatten(list(first_order_ids)))[:3] as first_order_ids,
from whole
group by scope, scope_value, part, tells, fits
