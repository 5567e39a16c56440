-- One row per order, store-day, sale class and measure whose booked and current amounts differ.
--
-- Booked is the closed amount plus restatements since, under the active close. Store-days
-- are first compared by fingerprint; orders are read only where a fingerprint differs or a
-- restatement exists.
with

every_store as (
    select business_date, close_entry_no from raw.day_closes where is_every_store
),

own as (
    select business_date, store_id, close_entry_no from raw.day_closes where not is_every_store
),

places as (
    select
        business_date,
        store_id,
        sale_class,
        fingerprint,
        order_count,
        false as is_restated,
    from audit.closed_day_totals

    union all

    select
        business_date,
        store_id,
        sale_class,
        fingerprint,
        order_count,
        false as is_restated,
    from audit.daily_fingerprints

    union all

    select
        business_date,
        store_id,
        sale_class,
        cast(null as varchar) as fingerprint,
        cast(null as bigint) as order_count,
        true as is_restated,
    from raw.restated
),

changed_places as (
    select
        places.business_date,
        places.store_id,
        places.sale_class,
        any_value(
            if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
        ) as close_entry_no,
    from places
    left join own
        on places.business_date = own.business_date
        and places.store_id = own.store_id
    left join every_store on places.business_date = every_store.business_date
    where
        if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
        is not null
    group by places.business_date, places.store_id, places.sale_class
    having
        bool_or(places.is_restated)
        or count(*) < 2
        or min(places.fingerprint) <> max(places.fingerprint)
        or min(places.order_count) <> max(places.order_count)
),

orders as (
    select
        closed.close_entry_no,
        closed.order_id,
        closed.store_id,
        closed.business_date,
        closed.sale_class,
        closed.currency,
        closed.subtotal_price,
        closed.delivery_price,
        closed.tip,
        closed.discount,
        closed.loyalty_discount,
        closed.total_price,
        closed.line_amount,
        'closed' as side,
    from raw.closed_orders as closed
    semi join changed_places as places
        on closed.business_date = places.business_date
        and closed.store_id is not distinct from places.store_id
        and closed.sale_class = places.sale_class
        and closed.close_entry_no = places.close_entry_no

    union all

    select
        places.close_entry_no,
        current.order_id,
        current.store_id,
        current.business_date,
        current.sale_class,
        current.currency,
        current.subtotal_price,
        current.delivery_price,
        current.tip,
        current.discount,
        current.loyalty_discount,
        current.total_price,
        current.line_amount,
        'current' as side,
    from mart.order_reconciliation as current
    inner join changed_places as places
        on current.business_date = places.business_date
        and current.store_id is not distinct from places.store_id
        and current.sale_class = places.sale_class
),

-- a null amount adds nothing to a sum: zero from here on
measures as (
    select
        close_entry_no,
        order_id,
        store_id,
        business_date,
        sale_class,
        currency,
        side,
        unnest([
            {'measure': 'order_count', 'amount': cast(1 as decimal(38, 4))},
            {'measure': 'subtotal_price', 'amount': subtotal_price},
            {'measure': 'delivery_price', 'amount': delivery_price},
            {'measure': 'tip', 'amount': tip},
            {'measure': 'discount', 'amount': discount},
            {'measure': 'loyalty_discount', 'amount': loyalty_discount},
            {'measure': 'total_price', 'amount': total_price},
            {'measure': 'line_amount', 'amount': line_amount},
        ], recursive := true),
    from orders

    union all

    select
        restated.close_entry_no,
        restated.order_id,
        restated.store_id,
        restated.business_date,
        restated.sale_class,
        restated.currency,
        'restated' as side,
        restated.measure,
        restated.restatement_amount as amount,
    from raw.restated as restated
    semi join changed_places as places
        on restated.business_date = places.business_date
        and restated.store_id is not distinct from places.store_id
        and restated.sale_class = places.sale_class
        and restated.close_entry_no = places.close_entry_no
),

added as (
    select
        close_entry_no,
        order_id,
        store_id,
        business_date,
        sale_class,
        measure,
        max(currency) as currency,
        coalesce(sum(amount) filter (where side = 'closed'), 0) as closed_amount,
        coalesce(sum(amount) filter (where side = 'restated'), 0)
            as prior_restated_amount,
        coalesce(sum(amount) filter (where side = 'current'), 0) as current_amount,
    from measures
    group by close_entry_no, order_id, store_id, business_date, sale_class, measure
)

select
    -- keys
    order_id,
    store_id,
    business_date,
    sale_class,
    measure,
    close_entry_no,
    -- money
    currency,
    cast(closed_amount as decimal(38, 4)) as closed_amount,
    cast(prior_restated_amount as decimal(38, 4)) as prior_restated_amount,
    cast(current_amount as decimal(38, 4)) as current_amount,
    cast(current_amount - closed_amount - prior_restated_amount as decimal(38, 4))
        as restatement_amount,
from added
where current_amount <> closed_amount + prior_restated_amount
