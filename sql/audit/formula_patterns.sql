-- One row per business day, scope, part of the price, and what orders tell and fit.
with

fits as (
    select
        order_id,
        'subtotal' as part,
        tells,
        fits,
    from audit.subtotal_fits

    union all

    select
        order_id,
        'total' as part,
        tells,
        fits,
    from audit.total_fits
),

cells as (
    select
        orders.business_date,
        orders.store_id,
        orders.platform,
        orders.dispatch_method,
        fits.part,
        fits.tells,
        fits.fits,
        count(*) as orders,
        min(orders.order_id, 3) as first_order_ids,
    from fits
    inner join mart.orders as orders on fits.order_id = orders.order_id
    group by
        orders.business_date,
        orders.store_id,
        orders.platform,
        orders.dispatch_method,
        fits.part,
        fits.tells,
        fits.fits
),

scoped as (
    select
        business_date,
        case
            when grouping(store_id) = 0 then 'store'
            when grouping(platform) = 0 then 'platform'
            when grouping(dispatch_method) = 0 then 'dispatch_method'
            else 'all'
        end as scope,
        case
            when grouping(store_id) = 0 then cast(store_id as varchar)
            when grouping(platform) = 0 then platform
            when grouping(dispatch_method) = 0 then dispatch_method
            else 'all'
        end as scope_value,
        part,
        tells,
        fits,
        cast(sum(orders) as bigint) as orders,
        list_sort(flatten(list(first_order_ids)))[:3] as first_order_ids,
    from cells
    group by grouping sets (
        (business_date, part, tells, fits),
        (business_date, part, tells, fits, platform),
        (business_date, part, tells, fits, dispatch_method),
        (business_date, part, tells, fits, store_id)
    )
)

select
    -- keys
    business_date,
    scope,
    scope_value,
    part,
    tells,
    fits,
    -- how many
    orders,
    first_order_ids,
from scoped
