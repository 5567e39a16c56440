-- One row per month of business days, store, platform, dispatch method, part of the price,
-- and what orders tell and fit.
select
    -- keys
    cast(date_trunc('month', business_date) as date) as business_month,
    store_id,
    platform,
    dispatch_method,
    part,
    tells,
    fits,
    -- how many
    cast(sum(orders) as bigint) as orders,
    list_sort(flatten(min(first_order_ids, 3)))[:3] as first_order_ids,
from audit.formula_patterns
group by business_month, store_id, platform, dispatch_method, part, tells, fits
