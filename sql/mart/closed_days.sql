-- One row per store, sealed business day, sale class and part.
with

every_store as (
    select business_date, close_entry_no, closed_at from raw.day_closes where is_every_store
),

own as (
    select business_date, store_id, close_entry_no, closed_at
    from raw.day_closes
    where not is_every_store
),

sealed as (
    select
        business_date,
        store_id,
        sale_class,
        currency,
        orders,
        subtotal_price,
        delivery_price,
        tip,
        discount,
        loyalty_discount,
        total_price,
        line_amount,
        'sealed' as side,
    from audit.closed_day_totals
),

sealed_dates as (
    select distinct business_date from raw.day_closes
),

-- days as they are now, added up already: no order is read again
current_days as (
    select
        days.business_date,
        days.store_id,
        days.sale_class,
        days.currency,
        days.orders,
        days.subtotal_price,
        days.delivery_price,
        days.tip,
        days.discount,
        days.loyalty_discount,
        days.total_price,
        days.line_amount,
        'now' as side,
    from sealed_dates as dates
    inner join mart.daily_reconciliations as days
        on dates.business_date = days.business_date
    left join own
        on days.business_date = own.business_date
        and days.store_id = own.store_id
    left join every_store on days.business_date = every_store.business_date
    where if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) is not null
),

wide as (
    from sealed
    union all
    from current_days
),

-- absence of a part adds nothing to a sum
long as (
    select
        business_date,
        store_id,
        sale_class,
        currency,
        side,
        unnest([
            {'part': 'orders', 'amount': cast(orders as decimal(38, 4))},
            {'part': 'subtotal_price', 'amount': subtotal_price},
            {'part': 'delivery_price', 'amount': delivery_price},
            {'part': 'tip', 'amount': tip},
            {'part': 'discount', 'amount': discount},
            {'part': 'loyalty_discount', 'amount': loyalty_discount},
            {'part': 'total_price', 'amount': total_price},
            {'part': 'line_amount', 'amount': line_amount},
        ], recursive := true),
    from wide

    union all

    select
        closed_business_date as business_date,
        store_id,
        sale_class,
        currency,
        if(posted_period is null, 'open', 'posted') as side,
        part,
        difference as amount,
    from mart.restatements
    where is_close_active
),

added as (
    select
        business_date,
        store_id,
        sale_class,
        part,
        coalesce(max(currency) filter (where side = 'sealed'), max(currency))
            as currency,
        coalesce(sum(amount) filter (where side = 'sealed'), 0) as sealed,
        coalesce(sum(amount) filter (where side = 'posted'), 0) as posted,
        coalesce(sum(amount) filter (where side = 'open'), 0) as open,
        coalesce(sum(amount) filter (where side = 'now'), 0) as now,
    from long
    group by business_date, store_id, sale_class, part
)

select
    -- keys
    added.business_date,
    added.store_id,
    added.sale_class,
    added.part,
    -- the seal
    if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) as close_entry_no,
    if(own.business_date is null, every_store.closed_at, own.closed_at) as closed_at,
    -- money
    added.currency,
    cast(added.sealed as decimal(38, 4)) as sealed,
    cast(added.posted as decimal(38, 4)) as posted,
    cast(added.open as decimal(38, 4)) as open,
    cast(added.now as decimal(38, 4)) as now,
from added
left join own
    on added.business_date = own.business_date
    and added.store_id = own.store_id
left join every_store on added.business_date = every_store.business_date
