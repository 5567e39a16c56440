-- One row per operation of the service, aspect of its behaviour, and observed name.
with

-- older log files have the aspects on the left
counted as (
    select
        operation,
        case aspect
            when 'ms' then 'duration_ms'
            when 'bytes' then 'response_bytes'
            when 'token_life' then 'token_lifetime'
            when 'trouble' then 'request_error'
            else aspect
        end as aspect,
        name,
        cast(sum(n) as bigint) as occurrence_count,
        min(least) as min_value,
        max(greatest) as max_value,
        min(first_at) as first_seen_at,
        max(last_at) as last_seen_at,
    from raw.service_log
    group by all
),

-- durations and sizes are counted by upper bound, six in each power of ten
bounds as (
    select
        operation,
        aspect,
        cast(name as double) as bound,
        sum(occurrence_count) over of_aspect as total_count,
        sum(occurrence_count) over (
            partition by operation, aspect order by cast(name as double)
        ) as running_count,
        min(min_value) over of_aspect as min_value,
        max(max_value) over of_aspect as max_value,
        min(first_seen_at) over of_aspect as first_seen_at,
        max(last_seen_at) over of_aspect as last_seen_at,
    from counted
    where aspect in ('duration_ms', 'response_bytes')
    window of_aspect as (partition by operation, aspect)
),

levels as (
    select unnest([0.5, 0.9, 0.95, 0.99]) as level
),

percentiles as (
    select
        bounds.operation,
        bounds.aspect,
        'p' || cast(levels.level * 100 as integer) as name,
        cast(any_value(bounds.total_count) as bigint) as occurrence_count,
        least(
            min(bounds.bound) filter (where running_count >= level * total_count),
            any_value(bounds.max_value)
        ) as metric_value,
        any_value(bounds.min_value) as min_value,
        any_value(bounds.max_value) as max_value,
        any_value(bounds.first_seen_at) as first_seen_at,
        any_value(bounds.last_seen_at) as last_seen_at,
    from bounds
    cross join levels
    group by bounds.operation, bounds.aspect, levels.level
),

notifications as (
    select
        topic,
        kind,
        id,
        min(received_at) as received_at,
        max(received_at) as last_received_at,
        count(*) as webhook_count,
    from raw.hints
    group by topic, kind, id
),

-- orders and changes while webhooks were received, and the first notification of each
events as (
    select
        'orders.create' as name,
        orders.created_at as occurred_at,
        notifications.received_at,
    from core.orders as orders
    left join notifications
        on orders.order_id = notifications.id
        and notifications.topic = 'orders.create'
    where orders.created_at between
        (select min(received_at) from raw.hints where topic = 'orders.create')
        and (select max(received_at) from raw.hints where topic = 'orders.create')

    union all

    select
        'orders.update' as name,
        changes.first_seen_at as occurred_at, -- at the latest
        min(notifications.received_at) as received_at,
    from core.order_status_observations as changes
    left join raw.hints as notifications
        on changes.order_id = notifications.id
        and notifications.kind = 'orders'
        and notifications.received_at >= changes.previous_last_seen_at
        and notifications.received_at <= changes.first_seen_at
    where changes.previous_last_seen_at >= (select min(received_at) from raw.hints)
        and changes.first_seen_at <= (select max(received_at) from raw.hints)
    group by changes.order_id, changes.observation_no, changes.first_seen_at
),

lags as (
    select
        name,
        count(*) as occurrence_count,
        quantile_disc(seconds, [0.5, 0.9, 0.99]) as metric_values,
        min(seconds) as min_value,
        max(seconds) as max_value,
        min(received_at) as first_seen_at,
        max(received_at) as last_seen_at,
    from (
        select
            name,
            received_at,
            date_diff('millisecond', occurred_at, received_at) / 1000 as seconds,
        from events
        where name = 'orders.create' and received_at is not null
    ) as notified
    group by name
),

webhooks as (
    select
        'loss' as aspect,
        name,
        count(*) as occurrence_count,
        count(*) filter (where received_at is null) / count(*) as metric_value,
        min(occurred_at) as first_seen_at,
        max(occurred_at) as last_seen_at,
    from events
    group by name

    union all by name

    select
        'lag_seconds' as aspect,
        name || ' ' || unnest(['p50', 'p90', 'p99']) as name,
        occurrence_count,
        unnest(metric_values) as metric_value,
        min_value,
        max_value,
        first_seen_at,
        last_seen_at,
    from lags

    union all by name

    select
        'deliveries' as aspect,
        coalesce(topic, 'unknown') as name,
        cast(sum(webhook_count) as bigint) as occurrence_count,
        sum(webhook_count) / count(*) as metric_value,
        min(received_at) as first_seen_at,
        max(last_received_at) as last_seen_at,
    from notifications
    group by topic
),

everything as (
    from counted
    where aspect not in ('duration_ms', 'response_bytes')

    union all by name

    from percentiles

    union all by name

    select 'webhooks' as operation, *,
    from webhooks
)

select
    -- keys
    operation,
    aspect,
    name,
    -- how often, how much
    occurrence_count,
    cast(metric_value as double) as metric_value,
    cast(min_value as double) as min_value,
    cast(max_value as double) as max_value,
    -- when
    first_seen_at,
    last_seen_at,
from everything
