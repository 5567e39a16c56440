"""Why an order differs from what was booked of it: one cause a row, decided from data alone.

What was last booked of the order (by a seal or a restatement) is laid beside what it is now, together with the
settings, rules and code of both times. The first case that holds decides; docs/DECISIONS.md has them in words.
Knows nothing of files: it reads the warehouse, attached as the default, and the sources in `memory.raw`.
"""

CAUSES = """
with

differences as (from audit.pending_restatements),

booked as (
    select
        order_id, close_entry_no as act_no, business_date, sale_class, timezone, payload_sha256, last_checked_at as checked_at
    from memory.raw.closed_orders
    semi join differences using (order_id)
    union all
    select
        order_id, restated_no, current_business_date, current_sale_class, now_timezone, now_payload_sha256, now_fetched_at
    from memory.raw.restated
    semi join differences using (order_id)
),

before as (
    select booked.*, acts.at, acts.days, acts.sales, acts.rules
    from booked
    inner join memory.acts as acts using (act_no)
    -- of the rows of one act any will do: they say the same of the order
    qualify row_number() over (partition by order_id order by act_no desc, business_date, sale_class) = 1
),

versions as (
    select
        order_id,
        version_no,
        last_seen_at,
        -- an archive may bring old news: what counts is when it came, too
        greatest(first_seen_at, try_strptime(left(_load_id, 21), '%Y%m%dT%H%M%S%f')::timestamptz) as known_at,
    from core.order_versions
    semi join differences using (order_id)
),

-- orders that were known when the day was sealed, and until when they were seen as they were then
held as (
    select versions.order_id, differences.close_entry_no, max(versions.last_seen_at) as seen_at
    from (select distinct order_id, close_entry_no from differences) as differences
    inner join memory.acts as seals on differences.close_entry_no = seals.act_no
    inner join versions on differences.order_id = versions.order_id and versions.known_at <= seals.known_to
    group by versions.order_id, differences.close_entry_no
),

since as (
    select
        orders.order_id,
        orders.business_date,
        orders.sale_class,
        orders.timezone,
        orders.is_deleted,
        known._payload_sha256 as payload_sha256,
        known._fetched_at as fetched_at,
        latest.known_at as changed_at,
    from mart.orders as orders
    inner join core.orders as known using (order_id)
    inner join (select order_id, max_by(known_at, version_no) as known_at from versions group by order_id) as latest
        using (order_id)
),

refusals as (
    select id as order_id, observed_at
    from build.refusals
    where kind = 'orders' and verdict = 'quarantined' and id in (select order_id from differences)
),

nets as (
    select order_id, part, sum(difference) as net from differences group by order_id, part
),

money as (
    select order_id, bool_or(net <> 0) as has_changed from nets group by order_id
),

-- orders that stand on a sealed day now, so that what moved nets to zero
landed as (
    select distinct differences.order_id
    from differences
    inner join since on differences.order_id = since.order_id and differences.business_date = since.business_date
),

judged as (
    select
        differences.*,
        since.business_date as current_business_date,
        since.sale_class as current_sale_class,
        since.timezone as now_timezone,
        since.payload_sha256 as now_payload_sha256,
        since.fetched_at as now_fetched_at,
        case
            -- no seal and no restatement knows the order
            when before.order_id is null and since.changed_at > seals.known_to and exists (
                select 1 from refusals
                where refusals.order_id = differences.order_id
                    and refusals.observed_at <= seals.at
                    and (held.seen_at is null or refusals.observed_at > held.seen_at)
            ) then 'released_from_quarantine'
            when before.order_id is null and held.order_id is null then 'late_arriving'
            when before.order_id is null and since.changed_at <= seals.known_to and seals.days <> present.days
                then 'setting_changed'
            when before.order_id is null then 'business_date_changed'
            when since.is_deleted and before.sale_class <> 'deleted' then 'gone'
            -- another document
            when since.payload_sha256 <> before.payload_sha256 and exists (
                select 1 from refusals
                where refusals.order_id = differences.order_id
                    and refusals.observed_at <= before.at
                    and (before.checked_at is null or refusals.observed_at > before.checked_at)
            ) then 'released_from_quarantine'
            when since.payload_sha256 <> before.payload_sha256
                and since.business_date is distinct from before.business_date
                and (nets.net = 0 or landed.order_id is null) then 'business_date_changed'
            when since.payload_sha256 <> before.payload_sha256 and not money.has_changed then 'sale_class_changed'
            when since.payload_sha256 <> before.payload_sha256 then 'source_changed'
            -- the same document
            when before.sale_class = 'deleted' and not since.is_deleted then 'sale_class_changed'
            when before.days <> present.days and since.business_date is distinct from before.business_date
                then 'setting_changed'
            when before.sales <> present.sales and since.sale_class <> before.sale_class then 'setting_changed'
            when since.business_date is distinct from before.business_date
                and since.timezone <> before.timezone then 'business_date_changed'
            when differences.part = 'line_amount' and before.rules <> present.rules then 'rule_changed'
            else 'pipeline_changed'
        end as cause,
    from differences
    cross join memory.present as present
    inner join memory.acts as seals on differences.close_entry_no = seals.act_no
    inner join since on differences.order_id = since.order_id
    inner join nets on differences.order_id = nets.order_id and differences.part = nets.part
    inner join money on differences.order_id = money.order_id
    left join landed on differences.order_id = landed.order_id
    left join before on differences.order_id = before.order_id
    left join held on differences.order_id = held.order_id and differences.close_entry_no = held.close_entry_no
)

select
    ? + row_number() over (order by business_date, order_id, store_id, sale_class, part) as number,
    close_entry_no,
    order_id,
    store_id,
    business_date,
    sale_class,
    part,
    currency,
    sealed,
    prior_restated_amount,
    now,
    difference,
    cause,
    ?::timestamptz as detected_at,
    current_business_date,
    current_sale_class,
    now_timezone,
    now_payload_sha256,
    now_fetched_at,
from judged
order by number
"""
