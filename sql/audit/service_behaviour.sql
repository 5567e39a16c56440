-- One row per operation of the service, aspect of its behaviour, and what was met.
with

counted as (
    select
        operation,
        aspect,
        name,
        cast(sum(n) as bigint) as times,
        min(least) as least,
        max(greatest) as greatest,
        min(first_at) as first_at,
        max(last_at) as last_at,
    from raw.service_log
    group by operation, aspect, name
),

-- times and sizes are counted by bounds, six in each power of ten
bounds as (
    select
        operation,
        aspect,
        cast(name as double) as bound,
        times,
        sum(times) over of_aspect as total,
        sum(times) over (
            partition by operation, aspect order by cast(name as double)
        ) as so_far,
        min(least) over of_aspect as least,
        max(greatest) over of_aspect as greatest,
        min(first_at) over of_aspect as first_at,
        max(last_at) over of_aspect as last_at,
    from counted
    where aspect in ('ms', 'bytes')
    window of_aspect as (partition by operation, aspect)
),

shares as (
    select unnest([0.5, 0.9, 0.95, 0.99]) as share
),

percentiles as (
    select
        bounds.operation,
        bounds.aspect,
        'p' || cast(shares.share * 100 as integer) as name,
        cast(any_value(bounds.total) as bigint) as times, -- one figure an aspect
        least(
            min(bounds.bound) filter (where so_far >= share * total),
            any_value(bounds.greatest)
        ) as figure,
        any_value(bounds.least) as least,
        any_value(bounds.greatest) as greatest,
        any_value(bounds.first_at) as first_at,
        any_value(bounds.last_at) as last_at,
    from bounds
    cross join shares
    group by bounds.operation, bounds.aspect, shares.share
),

hints as (
    select
        topic,
        kind,
        id,
        min(received_at) as received_at,
        max(received_at) as last_received_at,
        count(*) as deliveries,
    from raw.hints
    group by topic, kind, id
),

-- what happened while webhooks came, and the first that told of it
happened as (
    select
        'orders.create' as name,
        orders.created_at as happened_at,
        told.received_at,
    from core.orders as orders
    left join hints as told
        on orders.order_id = told.id
        and told.topic = 'orders.create'
    where orders.created_at between
        (select min(received_at) from raw.hints where topic = 'orders.create')
        and (select max(received_at) from raw.hints where topic = 'orders.create')

    union all

    select
        'orders.update' as name,
        changes.first_seen_at as happened_at, -- at the latest
        min(told.received_at) as received_at,
    from core.order_status_observations as changes
    left join raw.hints as told
        on changes.order_id = told.id
        and told.kind = 'orders'
        and told.received_at >= changes.previous_last_seen_at
        and told.received_at <= changes.first_seen_at
    where changes.previous_last_seen_at >= (select min(received_at) from raw.hints)
        and changes.first_seen_at <= (select max(received_at) from raw.hints)
    group by changes.order_id, changes.observation_no, changes.first_seen_at
),

lags as (
    select
        name,
        count(*) as times,
        quantile_disc(seconds, [0.5, 0.9, 0.99]) as figures,
        min(seconds) as least,
        max(seconds) as greatest,
        min(received_at) as first_at,
        max(received_at) as last_at,
    from (
        select
            name,
            received_at,
            date_diff('millisecond', happened_at, received_at) / 1000 as seconds,
        from happened
        where name = 'orders.create' and received_at is not null
    ) as told
    group by name
),

webhooks as (
    select
        'loss' as aspect,
        name,
        count(*) as times,
        count(*) filter (where received_at is null) / count(*) as figure,
        null as least,
        null as greatest,
        min(happened_at) as first_at,
        max(happened_at) as last_at,
    from happened
    group by name

    union all

    select
        'lag_seconds' as aspect,
        name || ' ' || unnest(['p50', 'p90', 'p99']) as name,
        times,
        unnest(figures) as figure,
        least,
        greatest,
        first_at,
        last_at,
    from lags

    union all

    select
        'deliveries' as aspect,
        coalesce(topic, 'unknown') as name,
        cast(sum(deliveries) as bigint) as times,
        sum(deliveries) / count(*) as figure,
        null as least,
        null as greatest,
        min(received_at) as first_at,
        max(last_received_at) as last_at,
    from hints
    group by topic
)

select
    -- keys
    operation,
    aspect,
    name,
    -- how often, how much
    times,
    cast(null as double) as figure,
    least,
    greatest,
    -- when
    first_at as first_seen_at,
    last_at as last_seen_at,
from counted
where aspect not in ('ms', 'bytes')

union all

select
    operation,
    aspect,
    name,
    times,
    figure,
    least,
    greatest,
    first_at as first_seen_at,
    last_at as last_seen_at,
from percentiles

union all

select
    'webhooks' as operation,
    aspect,
    name,
    times,
    cast(figure as double) as figure,
    least,
    greatest,
    first_at as first_seen_at,
    last_at as last_seen_at,
from webhooks
