-- One row per business day, store, platform, dispatch method, part of the price, and what
-- orders tell and fit.
with

fits as (
    select
        subtotals.order_id,
        'subtotal' as part,
        subtotals.tells,
        coalesce(rounded.fits, [subtotals.fits]) as fits,
    from audit.subtotal_fits as subtotals
    left join audit.rounded_subtotal_fits as rounded
        on subtotals.order_id = rounded.order_id

    union all

    select
        order_id,
        'total' as part,
        tells,
        fits,
    from audit.total_fits
)

select
    -- keys
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    fits.part,
    fits.tells,
    fits.fits,
    -- how many
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
