-- One row per business day, store, platform, dispatch method, part of the price, and
-- whether priced modifiers of other actions than add are in it: what forms leave over.
--
-- Exact amounts before any rounding: sums of what forms are made of, and the largest
-- difference for each form_no of audit.formula_rules; where every priced modifier is
-- added, forms that differ by other actions alone leave the same over, and only the first
-- five of every 13 are kept.
with

offs as (
    select
        orders.business_date,
        orders.store_id,
        orders.platform,
        orders.dispatch_method,
        coalesce(orders.currency, '') as currency,
        sums.tells & 16 <> 0 as has_other,
        sums.add_own_per_unit,
        sums.add_per_unit,
        sums.add_own,
        sums.add_once,
        sums.other_own_per_unit,
        sums.other_per_unit,
        sums.other_own,
        sums.other_once,
        sums.subtotal - sums.price_by_quantity as by_quantity_off,
        sums.subtotal - sums.price_once as once_off,
        by_quantity_off + sums.discount as by_quantity_after_off,
        once_off + sums.discount as once_after_off,
    from audit.subtotal_fits as sums
    inner join mart.orders as orders on sums.order_id = orders.order_id
),

plain_cells as (
    select
        business_date,
        store_id,
        platform,
        dispatch_method,
        false as has_other,
        count(*) as orders,
        min(currency) as currency,
        min(currency) <> max(currency) as has_currencies,
        [
            sum(by_quantity_off),
            sum(once_off),
            sum(by_quantity_after_off),
            sum(once_after_off),
            sum(add_own_per_unit),
            sum(add_per_unit),
            sum(add_own),
            sum(add_once),
        ] as sums,
        [
            max(abs(by_quantity_off)),
            max(abs(by_quantity_off - add_own_per_unit)),
            max(abs(by_quantity_off - add_per_unit)),
            max(abs(by_quantity_off - add_own)),
            max(abs(by_quantity_off - add_once)),
            max(abs(once_off)),
            max(abs(once_off - add_own_per_unit)),
            max(abs(once_off - add_per_unit)),
            max(abs(once_off - add_own)),
            max(abs(once_off - add_once)),
            max(abs(by_quantity_after_off)),
            max(abs(by_quantity_after_off - add_own_per_unit)),
            max(abs(by_quantity_after_off - add_per_unit)),
            max(abs(by_quantity_after_off - add_own)),
            max(abs(by_quantity_after_off - add_once)),
            max(abs(once_after_off)),
            max(abs(once_after_off - add_own_per_unit)),
            max(abs(once_after_off - add_per_unit)),
            max(abs(once_after_off - add_own)),
            max(abs(once_after_off - add_once)),
        ] as largest,
    from offs
    where not has_other
    group by business_date, store_id, platform, dispatch_method
),

others as (
    select
        *,
        add_own_per_unit + other_own_per_unit as own_per_unit,
        add_per_unit + other_per_unit as per_unit,
        add_own + other_own as own,
        add_once + other_once as once,
        add_own_per_unit - other_own_per_unit as less_own_per_unit,
        add_per_unit - other_per_unit as less_per_unit,
        add_own - other_own as less_own,
        add_once - other_once as less_once,
    from offs
    where has_other
),

other_cells as (
    select
        business_date,
        store_id,
        platform,
        dispatch_method,
        true as has_other,
        count(*) as orders,
        min(currency) as currency,
        min(currency) <> max(currency) as has_currencies,
        [
            sum(by_quantity_off),
            sum(once_off),
            sum(by_quantity_after_off),
            sum(once_after_off),
            sum(own_per_unit),
            sum(per_unit),
            sum(own),
            sum(once),
            sum(add_own_per_unit),
            sum(add_per_unit),
            sum(add_own),
            sum(add_once),
            sum(less_own_per_unit),
            sum(less_per_unit),
            sum(less_own),
            sum(less_once),
        ] as sums,
        [
            max(abs(by_quantity_off)),
            max(abs(by_quantity_off - own_per_unit)),
            max(abs(by_quantity_off - per_unit)),
            max(abs(by_quantity_off - own)),
            max(abs(by_quantity_off - once)),
            max(abs(by_quantity_off - add_own_per_unit)),
            max(abs(by_quantity_off - add_per_unit)),
            max(abs(by_quantity_off - add_own)),
            max(abs(by_quantity_off - add_once)),
            max(abs(by_quantity_off - less_own_per_unit)),
            max(abs(by_quantity_off - less_per_unit)),
            max(abs(by_quantity_off - less_own)),
            max(abs(by_quantity_off - less_once)),
            max(abs(once_off)),
            max(abs(once_off - own_per_unit)),
            max(abs(once_off - per_unit)),
            max(abs(once_off - own)),
            max(abs(once_off - once)),
            max(abs(once_off - add_own_per_unit)),
            max(abs(once_off - add_per_unit)),
            max(abs(once_off - add_own)),
            max(abs(once_off - add_once)),
            max(abs(once_off - less_own_per_unit)),
            max(abs(once_off - less_per_unit)),
            max(abs(once_off - less_own)),
            max(abs(once_off - less_once)),
            max(abs(by_quantity_after_off)),
            max(abs(by_quantity_after_off - own_per_unit)),
            max(abs(by_quantity_after_off - per_unit)),
            max(abs(by_quantity_after_off - own)),
            max(abs(by_quantity_after_off - once)),
            max(abs(by_quantity_after_off - add_own_per_unit)),
            max(abs(by_quantity_after_off - add_per_unit)),
            max(abs(by_quantity_after_off - add_own)),
            max(abs(by_quantity_after_off - add_once)),
            max(abs(by_quantity_after_off - less_own_per_unit)),
            max(abs(by_quantity_after_off - less_per_unit)),
            max(abs(by_quantity_after_off - less_own)),
            max(abs(by_quantity_after_off - less_once)),
            max(abs(once_after_off)),
            max(abs(once_after_off - own_per_unit)),
            max(abs(once_after_off - per_unit)),
            max(abs(once_after_off - own)),
            max(abs(once_after_off - once)),
            max(abs(once_after_off - add_own_per_unit)),
            max(abs(once_after_off - add_per_unit)),
            max(abs(once_after_off - add_own)),
            max(abs(once_after_off - add_once)),
            max(abs(once_after_off - less_own_per_unit)),
            max(abs(once_after_off - less_per_unit)),
            max(abs(once_after_off - less_own)),
            max(abs(once_after_off - less_once)),
        ] as largest,
    from others
    group by business_date, store_id, platform, dispatch_method
),

subtotal_cells as (
    from plain_cells
    union all
    from other_cells
),

-- below ten billion each, as in audit.total_fits: none of this leaves 18 digits
narrow as (
    select
        business_date,
        store_id,
        platform,
        dispatch_method,
        coalesce(currency, '') as currency,
        try_cast(subtotal_price as decimal(14, 4)) as subtotal,
        try_cast(delivery_price as decimal(14, 4)) as delivery,
        try_cast(tip as decimal(14, 4)) as tip,
        try_cast(discount as decimal(14, 4)) as discount,
        try_cast(loyalty_discount as decimal(14, 4)) as loyalty,
        try_cast(total_price as decimal(14, 4)) as total,
    from mart.orders
),

parts as (
    select
        *,
        total - cast(subtotal + delivery + tip - discount - loyalty as decimal(15, 4))
            as total_break,
    from narrow
    where total_break is not null
),

total_cells as (
    select
        business_date,
        store_id,
        platform,
        dispatch_method,
        count(*) as orders,
        min(currency) as currency,
        min(currency) <> max(currency) as has_currencies,
        [
            sum(total_break),
            sum(subtotal),
            sum(delivery),
            sum(tip),
            sum(discount),
            sum(loyalty),
        ] as sums,
        [
            max(abs(total_break)),
            max(abs(total_break + delivery)),
            max(abs(total_break + 2 * delivery)),
            max(abs(total_break + tip)),
            max(abs(total_break + 2 * tip)),
            max(abs(total_break - discount)),
            max(abs(total_break - 2 * discount)),
            max(abs(total_break - loyalty)),
            max(abs(total_break - 2 * loyalty)),
            max(abs(total_break - discount - loyalty)),
            max(abs(total_break + delivery + tip)),
            max(abs(total_break + subtotal)),
            max(abs(total_break + 2 * subtotal)),
        ] as largest,
    from parts
    group by business_date, store_id, platform, dispatch_method
)

select
    -- keys
    business_date,
    store_id,
    platform,
    dispatch_method,
    'subtotal' as part,
    has_other,
    -- how many
    orders,
    -- money
    nullif(currency, '') as currency,
    has_currencies,
    sums,
    cast(largest as decimal(18, 4)[]) as largest,
from subtotal_cells

union all

select
    business_date,
    store_id,
    platform,
    dispatch_method,
    'total' as part,
    false as has_other,
    orders,
    nullif(currency, '') as currency,
    has_currencies,
    sums,
    cast(largest as decimal(18, 4)[]) as largest,
from total_cells
-- wide rows: where those of a month lie together, adding it up need not read the others
order by business_date, part
