-- One row per business day, scope and part of the price: what each form leaves over.
--
-- Exact amounts before any rounding, in lists with one for each form_no of
-- audit.formula_rules; where every priced modifier is added, forms that differ by other
-- actions alone leave the same over, and only the first five of every 13 are kept.
with

sums as (
    select
        order_id,
        price_once,
        price_by_quantity,
        add_own_per_unit,
        add_per_unit,
        add_own,
        add_once,
        add_own_per_unit + other_own_per_unit as own_per_unit,
        add_per_unit + other_per_unit as per_unit,
        add_own + other_own as own,
        add_once + other_once as once,
        add_own_per_unit - other_own_per_unit as less_own_per_unit,
        add_per_unit - other_per_unit as less_per_unit,
        add_own - other_own as less_own,
        add_once - other_once as less_once,
        has_other,
    from audit.order_sums
    where is_whole
),

orders as (
    select
        order_id,
        business_date,
        store_id,
        platform,
        dispatch_method,
        coalesce(currency, '') as currency,
        cast(subtotal_price as decimal(38, 4)) as subtotal,
        cast(delivery_price as decimal(38, 4)) as delivery,
        cast(tip as decimal(38, 4)) as tip,
        cast(discount as decimal(38, 4)) as discount,
        cast(loyalty_discount as decimal(38, 4)) as loyalty,
        total_price - (subtotal + delivery + tip - discount - loyalty) as total_off,
    from mart.orders
),

offs as (
    select
        orders.business_date,
        orders.store_id,
        orders.platform,
        orders.dispatch_method,
        orders.currency,
        sums.* exclude (order_id, price_once, price_by_quantity),
        orders.subtotal - sums.price_by_quantity as by_quantity_off,
        orders.subtotal - sums.price_once as once_off,
        by_quantity_off + orders.discount as by_quantity_after_off,
        once_off + orders.discount as once_after_off,
    from sums
    inner join orders on sums.order_id = orders.order_id
    where orders.subtotal is not null and orders.discount is not null
),

subtotal_cells as (
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
        'subtotal' as part,
        bool_or(has_other) as has_other,
        count(*) as orders,
        min(currency) as currency,
        min(currency) <> max(currency) as has_currencies,
        [
            sum(by_quantity_off),
            sum(once_off),
            sum(by_quantity_after_off),
            sum(once_after_off),
        ] as off_sums,
        [
            cast(0 as decimal(38, 4)),
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
        ] as modifier_sums,
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
    from offs
    group by grouping sets (
        (business_date),
        (business_date, platform),
        (business_date, dispatch_method),
        (business_date, store_id)
    )
),

total_cells as (
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
        'total' as part,
        count(*) as orders,
        min(currency) as currency,
        min(currency) <> max(currency) as has_currencies,
        [
            sum(total_off),
            sum(total_off + delivery),
            sum(total_off + 2 * delivery),
            sum(total_off + tip),
            sum(total_off + 2 * tip),
            sum(total_off - discount),
            sum(total_off - 2 * discount),
            sum(total_off - loyalty),
            sum(total_off - 2 * loyalty),
            sum(total_off - discount - loyalty),
            sum(total_off + delivery + tip),
            sum(total_off + subtotal),
            sum(total_off + 2 * subtotal),
        ] as residuals,
        [
            max(abs(total_off)),
            max(abs(total_off + delivery)),
            max(abs(total_off + 2 * delivery)),
            max(abs(total_off + tip)),
            max(abs(total_off + 2 * tip)),
            max(abs(total_off - discount)),
            max(abs(total_off - 2 * discount)),
            max(abs(total_off - loyalty)),
            max(abs(total_off - 2 * loyalty)),
            max(abs(total_off - discount - loyalty)),
            max(abs(total_off + delivery + tip)),
            max(abs(total_off + subtotal)),
            max(abs(total_off + 2 * subtotal)),
        ] as largest,
    from orders
    where total_off is not null
    group by grouping sets (
        (business_date),
        (business_date, platform),
        (business_date, dispatch_method),
        (business_date, store_id)
    )
)

select
    -- keys
    business_date,
    scope,
    scope_value,
    part,
    -- how many
    orders,
    -- money
    nullif(currency, '') as currency,
    has_currencies,
    flatten(
        list_transform(
            off_sums,
            lambda off: list_transform(
                if(has_other, modifier_sums, modifier_sums[:5]),
                lambda modifiers: off - modifiers
            )
        )
    ) as residuals,
    if(
        has_other,
        largest,
        list_filter(largest, lambda each, place: (place - 1) % 13 < 5)
    ) as largest,
from subtotal_cells

union all

select
    business_date,
    scope,
    scope_value,
    part,
    orders,
    nullif(currency, '') as currency,
    has_currencies,
    residuals,
    largest,
from total_cells
-- wide rows: where those of a month lie together, adding it up need not read the others
order by business_date, part, scope, scope_value
