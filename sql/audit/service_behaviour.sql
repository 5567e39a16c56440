-- One row per operation of the service, aspect of its behaviour, and observed name.
--
-- Source: the client's counts of every response and failed attempt (a log of runs below data/raw), and webhook
-- notifications compared with what fetching found.
-- Caveats: the figures depend on this client's location and request rate. A lag is from created_at to the first
-- notification that named the order; a loss is the share of orders created, or of status changes found, without a
-- notification while webhooks were received. Durations and sizes are counted in six buckets per power of ten: a
-- percentile is the upper bound of its bucket, or the maximum.
--
-- key: operation, aspect, name
--
-- operation VARCHAR: orders, menus, stores, store list, authenticate, or webhooks.
-- aspect ENUM('deliveries', 'duration_ms', 'error_body', 'header', 'lag_seconds', 'loss', 'rate_limit', 'request_error', 'response_bytes', 'retry_after', 'status', 'token_lifetime'): status: HTTP codes. header: names of headers. rate_limit: rate-limit headers with their numbers. retry_after: requested seconds, by status. token_lifetime: claimed, the seconds that the service states; accepted and refused, the age of a token when it was; others, with what the service answered an expired token, which was renewed. duration_ms: of an attempt. response_bytes: of a body. error_body: status, and keys and types of the body; ? stands for a key that may be a person's name. request_error: why an attempt failed. deliveries, lag_seconds, loss: of webhooks.
-- name not null: The observed value, or which percentile; … replaces text that is not a plain name.
-- occurrence_count >= 0: How often it occurred; for a percentile: the number of measurements.
-- metric_value DOUBLE null: The percentile; of deliveries: how many per id; of loss: the share. Null for others.
-- min_value DOUBLE: Smallest measurement; null if nothing was measured.
-- max_value DOUBLE: Largest measurement; null if nothing was measured.
-- first_seen_at: When it was first observed.
-- last_seen_at: When it was last observed.
with counted as (
    select
        operation, aspect, name,
        cast(sum(n) as bigint) as occurrence_count,
        min(least) as min_value, max(greatest) as max_value, min(first_at) as first_seen_at,
        max(last_at) as last_seen_at,
    from raw.service_log group by operation, aspect, name
),
-- durations and sizes are counted by upper bound, six in each power of ten
bounds as (
    select
        *,
        cast(name as double) as bound,
        sum(occurrence_count) over of_aspect as total_count,
        sum(occurrence_count) over (of_aspect order by bound) as running_count,
    from counted
    where aspect in ('duration_ms', 'response_bytes')
    window of_aspect as (partition by operation, aspect)
),
percentiles as (
    select
        operation, aspect,
        'p' || cast(level * 100 as integer) as name,
        cast(any_value(total_count) as bigint) as occurrence_count,
        least(min(bound) filter (where running_count >= level * total_count), max(max_value)) as metric_value,
        min(min_value) as min_value, max(max_value) as max_value, min(first_seen_at) as first_seen_at,
        max(last_seen_at) as last_seen_at,
    from bounds
    cross join (select unnest([0.5, 0.9, 0.95, 0.99]) as level) as levels
    group by operation, aspect, level
),
-- orders and changes while webhooks were received, and the first notification of each
events as (
    select
        'orders.create' as name, orders.created_at as occurred_at, notifications.received_at,
        date_diff('millisecond', occurred_at, received_at) / 1000 as lag_seconds,
    from core.orders as orders
    left join (
        select id, min(received_at) as received_at,
        from raw.hints where topic = 'orders.create' group by id
    ) as notifications on orders.order_id = notifications.id
    where orders.created_at between
        (select min(received_at) from raw.hints where topic = 'orders.create')
        and (select max(received_at) from raw.hints where topic = 'orders.create')
    union all by name
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
everything as (
    from counted where aspect not in ('duration_ms', 'response_bytes')
    union all by name
    from percentiles
    union all by name
    select
        'webhooks' as operation, 'loss' as aspect, name, count(*) as occurrence_count,
        count(*) filter (where received_at is null) / count(*) as metric_value,
        min(occurred_at) as first_seen_at, max(occurred_at) as last_seen_at,
    from events group by name
    union all by name
    select
        'webhooks' as operation, 'lag_seconds' as aspect,
        name || ' ' || unnest(['p50', 'p90', 'p99']) as name,
        count(*) as occurrence_count,
        unnest(quantile_disc(lag_seconds, [0.5, 0.9, 0.99])) as metric_value,
        min(lag_seconds) as min_value, max(lag_seconds) as max_value, min(received_at) as first_seen_at,
        max(received_at) as last_seen_at,
    from events where lag_seconds is not null group by events.name
    union all by name
    select
        'webhooks' as operation, 'deliveries' as aspect,
        coalesce(topic, 'unknown') as name,
        count(*) as occurrence_count,
        count(*) / count(distinct {'kind': kind, 'id': id}) as metric_value,
        min(received_at) as first_seen_at, max(received_at) as last_seen_at,
    from raw.hints group by topic
)

select
    operation, aspect, name, occurrence_count,
    cast(metric_value as double) as metric_value,
    cast(min_value as double) as min_value,
    cast(max_value as double) as max_value,
    first_seen_at, last_seen_at,
from everything
