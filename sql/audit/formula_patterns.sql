-- One row per business day, store, platform, dispatch method, part of the price, and what
-- orders tell and fit.
--
-- Most orders fit nothing that rounds: adding them up by the one mask that they have is
-- several times faster than by a list of them.
with

plain_subtotals as (
    select
        subtotals.order_id,
        subtotals.tells,
        subtotals.fits,
    from audit.subtotal_fits as subtotals
    anti join audit.rounded_subtotal_fits as rounded
        on subtotals.order_id = rounded.order_id
),

rounded_subtotals as (
    select
        subtotals.order_id,
        subtotals.tells,
        rounded.fits,
    from audit.subtotal_fits as subtotals
    inner join audit.rounded_subtotal_fits as rounded
        on subtotals.order_id = rounded.order_id
),

plain_totals as (
    select
        order_id,
        tells,
        fits[1] as fits,
    from audit.total_fits
    where len(fits) = 1
),

rounded_totals as (
    select
        order_id,
        tells,
        fits,
    from audit.total_fits
    where len(fits) <> 1
)

select
    -- keys
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    'subtotal' as part,
    fits.tells,
    [fits.fits] as fits,
    -- how many
    count(*) as orders,
    min(orders.order_id, 3) as first_order_ids,
from plain_subtotals as fits
inner join mart.orders as orders on fits.order_id = orders.order_id
group by
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    fits.tells,
    fits.fits

union all

select
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    'subtotal' as part,
    fits.tells,
    fits.fits,
    count(*) as orders,
    min(orders.order_id, 3) as first_order_ids,
from rounded_subtotals as fits
inner join mart.orders as orders on fits.order_id = orders.order_id
group by
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    fits.tells,
    fits.fits

union all

select
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    'total' as part,
    fits.tells,
    [fits.fits] as fits,
    count(*) as orders,
    min(orders.order_id, 3) as first_order_ids,
from plain_totals as fits
inner join mart.orders as orders on fits.order_id = orders.order_id
group by
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    fits.tells,
    fits.fits

union all

select
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    'total' as part,
    fits.tells,
    fits.fits,
    count(*) as orders,
    min(orders.order_id, 3) as first_order_ids,
from rounded_totals as fits
inner join mart.orders as orders on fits.order_id = orders.order_id
group by
    orders.business_date,
    orders.store_id,
    orders.platform,
    orders.dispatch_method,
    fits.tells,
    fits.fits
