-- One row per scope, part of the price, and what orders tell and fit, over all days.
with

dated as (
    select scope, scope_value, part, tells, fits, orders, first_order_ids,
    from audit.formula_patterns

    union all

    select
        'month' as scope,
        strftime(business_date, '%Y-%m') as scope_value,
        part,
        tells,
        fits,
        orders,
        first_order_ids,
    from audit.formula_patterns
    where scope = 'all'
),

patterns as (
    select
        scope,
        scope_value,
        part,
        tells,
        fits,
        cast(sum(orders) as bigint) as orders,
        list_sort(flatten(list(first_order_ids)))[:3] as first_order_ids,
    from dated
    group by scope, scope_value, part, tells, fits
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
