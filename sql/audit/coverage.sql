-- One row per store and business day: what was announced, what is held, and how the last asking for each id ended.
with

hints as (
    select id as order_id, max(received_at) as last_hinted_at,
    from raw.hints
    where kind = 'orders'
    group by id
),

states as (
    select id as order_id, last_verdict, last_source, last_checked_at,
    from raw.states
    where kind = 'orders'
),

orders as (
    select order_id, store_id, business_date from mart.orders
),

announced_or_observed as (
    select
        coalesce(states.order_id, hints.order_id) as order_id,
        hints.last_hinted_at,
        states.last_verdict,
        states.last_source,
        states.last_checked_at,
    from states
    full join hints on states.order_id = hints.order_id
),

ids as (
    select
        orders.store_id,
        orders.business_date,
        count(*) as ids,
        count(last_hinted_at) as hinted,
        count(orders.order_id) as known,
        count(*) filter (where last_verdict in ('accepted', 'unchanged') and last_source = 'live') as fetched,
        count(*) filter (where last_verdict = 'unchanged' and last_source = 'live') as unchanged,
        count(*) filter (where last_verdict in ('accepted', 'unchanged') and last_source = 'archive') as from_archive,
        count(*) filter (where last_verdict = 'missing') as missing,
        count(*) filter (where last_verdict = 'failed') as failed,
        count(*) filter (where last_verdict = 'quarantined') as quarantined,
        count(*) filter (where last_verdict is null) as never_asked,
        count(*) filter (where last_hinted_at > coalesce(last_checked_at, '-infinity'::timestamptz)) as stale,
    from announced_or_observed
    left join orders on announced_or_observed.order_id = orders.order_id
    group by orders.store_id, orders.business_date
),

-- the total that counts most sale classes says most about completeness
totals as (
    select store_id, business_date, orders_stated, orders_held,
    from audit.control_totals
    where orders_stated is not null and comparison <> 'unknown'
    qualify row_number() over (
        partition by store_id, business_date
        order by length(string_split(sale_classes, '+')) desc, sale_classes, money_part
    ) = 1
)

select
    -- keys
    coalesce(ids.store_id, totals.store_id) as store_id,
    coalesce(ids.business_date, totals.business_date) as business_date,
    -- ids; none of that day is zero of each
    coalesce(ids.ids, 0) as ids,
    coalesce(ids.hinted, 0) as hinted,
    coalesce(ids.known, 0) as known,
    coalesce(ids.fetched, 0) as fetched,
    coalesce(ids.unchanged, 0) as unchanged,
    coalesce(ids.from_archive, 0) as from_archive,
    coalesce(ids.missing, 0) as missing,
    coalesce(ids.failed, 0) as failed,
    coalesce(ids.quarantined, 0) as quarantined,
    coalesce(ids.never_asked, 0) as never_asked,
    coalesce(ids.stale, 0) as stale,
    -- completeness
    if(totals.store_id is null, 'unknown', 'control_total') as completeness_basis,
    totals.orders_stated,
    totals.orders_held,
    case
        when totals.orders_stated > 0 then totals.orders_held / totals.orders_stated
        when totals.orders_held = 0 then 1.0
    end as completeness,
from ids
full join totals
    on ids.store_id = totals.store_id
    and ids.business_date = totals.business_date
