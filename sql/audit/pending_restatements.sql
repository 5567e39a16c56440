-- One row per order, store-day, sale class, measure and currency whose booked and current amounts differ.
--
-- Source: workings.changed_closed_days, raw.closed_orders and raw.restated, from the ledger, against
-- mart.order_reconciliation.
-- Caveats: empty in a release, because every row is recorded as a restatement before the release is published.
--
-- key: order_id, store_id, business_date, sale_class, measure, currency, platform
--
-- business_date not null: The closed business day.
-- sale_class: The sale class of the amount: counted, excluded, unmapped or deleted.
-- platform: Where the amount is booked: an order of another platform since has rows of both. Of closes that did not record it the order's.
-- prior_restated_amount: Sum of the restatements recorded since.
-- current_amount: The order's current amount here; zero if it has left.

-- Booked is the closed amount plus restatements since, under the active close. Orders are
-- read only of days that may differ.
with orders as (
    select
        closed.close_entry_no, closed.order_id, closed.store_id, closed.business_date, closed.sale_class,
        closed.currency,
        if(closed.total_parts is null, coalesce(closed.platform, known.platform), closed.platform) as platform,
        closed.$price,
        closed.line_amount, 'closed' as side,
    from raw.closed_orders as closed
    left join mart.orders as known on closed.order_id = known.order_id
    semi join workings.changed_closed_days as places
        on closed.business_date = places.business_date
        and closed.store_id is not distinct from places.store_id
        and closed.sale_class = places.sale_class
        and closed.close_entry_no = places.close_entry_no
    union all
    select
        places.close_entry_no, current.order_id, current.store_id, current.business_date, current.sale_class,
        current.currency, current.platform,
        current.$price,
        current.line_amount, 'current' as side,
    from mart.order_reconciliation as current
    inner join workings.changed_closed_days as places
        on current.business_date = places.business_date
        and current.store_id is not distinct from places.store_id
        and current.sale_class = places.sale_class
),
-- a null amount adds nothing to a sum: zero from here on
measures as (
    select
        close_entry_no, order_id, store_id, business_date, sale_class, currency, platform, side,
        unnest(measures_of(orders, 1), recursive := true),
    from orders
    union all
    select
        restated.close_entry_no, restated.order_id, restated.store_id, restated.business_date,
        restated.sale_class, restated.currency,
        if(restated.total_parts is null, coalesce(restated.platform, known.platform), restated.platform) as platform,
        'restated' as side, restated.measure, restated.restatement_amount as amount,
    from raw.restated as restated
    left join mart.orders as known on restated.order_id = known.order_id
    semi join workings.changed_closed_days as places
        on restated.business_date = places.business_date
        and restated.store_id is not distinct from places.store_id
        and restated.sale_class = places.sale_class
        and restated.close_entry_no = places.close_entry_no
),
added as (
    select
        close_entry_no, order_id, store_id, business_date, sale_class, measure, currency, platform,
        cast(coalesce(sum(amount) filter (where side = 'closed'), 0) as decimal(38, 4)) as closed_amount,
        cast(coalesce(sum(amount) filter (where side = 'restated'), 0) as decimal(38, 4)) as prior_restated_amount,
        cast(coalesce(sum(amount) filter (where side = 'current'), 0) as decimal(38, 4)) as current_amount,
    from measures
    group by close_entry_no, order_id, store_id, business_date, sale_class, measure, currency, platform
)

select
    order_id, store_id, business_date, sale_class, measure, currency, platform, close_entry_no, closed_amount,
    prior_restated_amount, current_amount,
    cast(current_amount - closed_amount - prior_restated_amount as decimal(38, 4)) as restatement_amount,
from added
where current_amount <> closed_amount + prior_restated_amount
