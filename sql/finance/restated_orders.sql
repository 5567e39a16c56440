-- One row per order and close with pending restatements: the order's known facts.
--
-- As it is now, and as it was seen when its day was closed. Reads the warehouse, attached
-- as the default database, temp.last_booked, and the ledger entries in `memory`.
with pending as (from audit.pending_restatements),
versions as (
    select
        versions.order_id, versions.version_no, versions.last_seen_at,
        -- an archive may bring old versions: the time of its load counts too
        greatest(versions.first_seen_at, loads.started_at) as known_at,
    from core.order_versions as versions
    left join audit.loads as loads on versions._load_id = loads.load_id
    semi join pending using (order_id)
),
-- orders known when the day was closed, and until when they were seen as they were then
known_at_close as (
    select versions.order_id, pending.close_entry_no, max(versions.last_seen_at) as seen_at,
    from (select distinct order_id, close_entry_no from pending) as pending
    inner join memory.entries as closes on pending.close_entry_no = closes.entry_no
    inner join versions on pending.order_id = versions.order_id and versions.known_at <= closes.known_to
    group by versions.order_id, pending.close_entry_no
),
quarantined as (
    select id as order_id, observed_at
    from build.refusals
    where kind = 'orders' and verdict = 'quarantined' and id in (select order_id from pending)
),
-- all measures of an order have one cause; a move from a closed day to a closed one nets to
-- zero, as does one from a currency or platform to another if no amount changed besides
changes as (
    select
        order_id,
        bool_or(net <> 0) as has_changed,
        bool_and(measure = 'line_amount') as is_of_lines_alone,
        count(distinct struct_pack(business_date, store_id)) > 1 as is_between_closed_days,
        count(distinct struct_pack(currency)) > 1 as is_between_currencies,
        count(distinct struct_pack(platform)) > 1 as is_between_platforms,
    from (select *, sum(restatement_amount) over (partition by order_id, measure) as net, from pending)
    group by order_id
),
-- orders whose documents named another store when they were seen before
store_changes as (
    select fields.order_id, max(versions.known_at) as changed_at
    from core.order_changes as fields
    inner join versions using (order_id, version_no)
    where fields.field = 'store_id'
    group by fields.order_id
)

select
    pending.order_id, pending.close_entry_no,
    -- now
    orders.store_id, orders.business_date, orders.sale_class, orders.timezone, orders.is_deleted,
    known._payload_sha256 as payload_sha256, known._fetched_at as fetched_at, latest.known_at as changed_at,
    -- what has changed
    changes.has_changed, changes.is_of_lines_alone, changes.is_between_closed_days,
    changes.is_between_currencies, changes.is_between_platforms, store_changes.changed_at as store_changed_at,
    -- at close
    known_at_close.order_id is not null as was_known_at_close,
    exists (
        select 1 from quarantined
        where quarantined.order_id = pending.order_id
            and quarantined.observed_at <= closes.written_at
            and (
                known_at_close.seen_at is null or quarantined.observed_at > known_at_close.seen_at
            )
    ) as was_quarantined_at_close,
    -- when it was last booked
    exists (
        select 1 from quarantined
        where quarantined.order_id = pending.order_id
            and quarantined.observed_at <= booked.written_at
            and (booked.checked_at is null or quarantined.observed_at > booked.checked_at)
    ) as was_quarantined_when_booked,
from (select distinct order_id, close_entry_no from pending) as pending
inner join memory.entries as closes on pending.close_entry_no = closes.entry_no
inner join mart.orders as orders using (order_id)
inner join core.orders as known using (order_id)
inner join (
    select order_id, max_by(known_at, version_no) as known_at from versions group by order_id
) as latest on pending.order_id = latest.order_id
inner join changes using (order_id)
left join store_changes using (order_id)
left join temp.last_booked as booked using (order_id)
left join known_at_close using (order_id, close_entry_no)
