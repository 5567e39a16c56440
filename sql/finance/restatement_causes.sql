-- One row per pending restatement, numbered and with its cause, in the shape of the ledger.
--
-- What was last booked of an order (by a close or a restatement) is compared with what it
-- is now, together with the settings, rules and code of both times. The first case that
-- applies decides; docs/DECISIONS.md explains them. Reads the warehouse, attached as the
-- default database, and the sources and ledger entries in `memory`.
with

pending as (from audit.pending_restatements),

booked as (
    select
        order_id,
        close_entry_no as entry_no,
        store_id,
        business_date,
        sale_class,
        timezone,
        payload_sha256,
        last_checked_at as checked_at,
    from memory.raw.closed_orders
    semi join pending using (order_id)

    union all

    select
        order_id,
        entry_no,
        current_store_id,
        current_business_date,
        current_sale_class,
        current_timezone,
        current_payload_sha256,
        current_fetched_at,
    from memory.raw.restated
    semi join pending using (order_id)
),

last_booked as (
    select
        booked.*,
        entries.written_at,
        entries.business_day_hash,
        entries.sales_hash,
        entries.rules_hash,
    from booked
    inner join memory.entries as entries using (entry_no)
    -- the rows of one entry agree about an order: the tie-break is arbitrary
    qualify
        row_number() over (
            partition by order_id order by entry_no desc, business_date, sale_class
        )
        = 1
),

versions as (
    select
        versions.order_id,
        versions.version_no,
        versions.last_seen_at,
        -- an archive may bring old versions: the time of its load counts too
        greatest(versions.first_seen_at, loads.started_at) as known_at,
    from core.order_versions as versions
    left join audit.loads as loads on versions._load_id = loads.load_id
    semi join pending using (order_id)
),

-- orders known when the day was closed, and until when they were seen as they were then
known_at_close as (
    select
        versions.order_id,
        pending.close_entry_no,
        max(versions.last_seen_at) as seen_at,
    from (select distinct order_id, close_entry_no from pending) as pending
    inner join memory.entries as closes on pending.close_entry_no = closes.entry_no
    inner join versions
        on pending.order_id = versions.order_id
        and versions.known_at <= closes.known_to
    group by versions.order_id, pending.close_entry_no
),

current_orders as (
    select
        orders.order_id,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.timezone,
        orders.is_deleted,
        known._payload_sha256 as payload_sha256,
        known._fetched_at as fetched_at,
        latest.known_at as changed_at,
    from mart.orders as orders
    inner join core.orders as known using (order_id)
    inner join (
        select order_id, max_by(known_at, version_no) as known_at
        from versions
        group by order_id
    ) as latest using (order_id)
),

quarantined as (
    select id as order_id, observed_at
    from build.refusals
    where
        kind = 'orders'
        and verdict = 'quarantined'
        and id in (select order_id from pending)
),

net_amounts as (
    select order_id, measure, sum(restatement_amount) as net
    from pending
    group by order_id, measure
),

-- all measures of an order have one cause
amount_changes as (
    select
        order_id,
        bool_or(net <> 0) as has_changed,
        bool_and(measure = 'line_amount') as is_of_lines_alone,
    from net_amounts
    group by order_id
),

-- moves from a closed day to a closed one, which net to zero
moves_between_closed_days as (
    select order_id
    from pending
    group by order_id
    having count(distinct struct_pack(business_date, store_id)) > 1
),

-- orders whose documents named another store when they were seen before
store_changes as (
    select changes.order_id, max(versions.known_at) as changed_at
    from core.order_changes as changes
    inner join versions
        on changes.order_id = versions.order_id
        and changes.version_no = versions.version_no
    where changes.field = 'store_id'
    group by changes.order_id
),

causes as (
    select
        pending.*,
        current_orders.business_date as current_business_date,
        current_orders.sale_class as current_sale_class,
        current_orders.timezone as current_timezone,
        current_orders.payload_sha256 as current_payload_sha256,
        current_orders.fetched_at as current_fetched_at,
        current_orders.store_id as current_store_id,
        case
            -- neither a close nor a restatement has the order
            when last_booked.order_id is null
                and current_orders.changed_at > closes.known_to
                and exists (
                    select 1 from quarantined
                    where quarantined.order_id = pending.order_id
                        and quarantined.observed_at <= closes.written_at
                        and (
                            known_at_close.seen_at is null
                            or quarantined.observed_at > known_at_close.seen_at
                        )
                )
                then 'released_from_quarantine'
            when last_booked.order_id is null and known_at_close.order_id is null
                then 'late_arriving'
            when last_booked.order_id is null
                and current_orders.changed_at <= closes.known_to
                and closes.business_day_hash <> present.business_day_hash
                then 'setting_changed'
            when last_booked.order_id is null and store_changes.changed_at > closes.known_to
                then 'moved_to_another_store'
            when last_booked.order_id is null then 'business_date_changed'
            when current_orders.is_deleted and last_booked.sale_class <> 'deleted'
                then 'deleted'
            -- a different document
            when current_orders.payload_sha256 <> last_booked.payload_sha256
                and exists (
                    select 1 from quarantined
                    where quarantined.order_id = pending.order_id
                        and quarantined.observed_at <= last_booked.written_at
                        and (
                            last_booked.checked_at is null
                            or quarantined.observed_at > last_booked.checked_at
                        )
                )
                then 'released_from_quarantine'
            when current_orders.payload_sha256 <> last_booked.payload_sha256
                and current_orders.business_date is null
                and last_booked.business_date is not null
                then 'lost_its_date'
            -- between closed days only if no amount changed besides
            when current_orders.payload_sha256 <> last_booked.payload_sha256
                and current_orders.store_id is distinct from last_booked.store_id
                and last_booked.store_id is not null
                and (not has_changed or moves.order_id is null)
                then 'moved_to_another_store'
            when current_orders.payload_sha256 <> last_booked.payload_sha256
                and current_orders.business_date is distinct from last_booked.business_date
                and (not has_changed or moves.order_id is null)
                then 'business_date_changed'
            when current_orders.payload_sha256 <> last_booked.payload_sha256
                and not has_changed
                then 'sale_class_changed'
            when current_orders.payload_sha256 <> last_booked.payload_sha256
                then 'source_changed'
            -- the same document
            when last_booked.sale_class = 'deleted' and not current_orders.is_deleted
                then 'sale_class_changed'
            when last_booked.business_day_hash <> present.business_day_hash
                and current_orders.business_date is distinct from last_booked.business_date
                then 'setting_changed'
            when last_booked.sales_hash <> present.sales_hash
                and current_orders.sale_class <> last_booked.sale_class
                then 'setting_changed'
            when current_orders.business_date is distinct from last_booked.business_date
                and current_orders.timezone <> last_booked.timezone
                then 'business_date_changed'
            when is_of_lines_alone
                and last_booked.rules_hash <> present.rules_hash
                then 'rule_changed'
            else 'pipeline_changed'
        end as cause,
    from pending
    cross join memory.present as present
    inner join memory.entries as closes on pending.close_entry_no = closes.entry_no
    inner join current_orders on pending.order_id = current_orders.order_id
    inner join amount_changes on pending.order_id = amount_changes.order_id
    left join store_changes on pending.order_id = store_changes.order_id
    left join moves_between_closed_days as moves on pending.order_id = moves.order_id
    left join last_booked on pending.order_id = last_booked.order_id
    left join known_at_close
        on pending.order_id = known_at_close.order_id
        and pending.close_entry_no = known_at_close.close_entry_no
)

select
    $last_restatement_no + row_number() over (
        order by business_date, order_id, store_id, sale_class, measure
    ) as restatement_no,
    close_entry_no,
    order_id,
    store_id,
    business_date,
    sale_class,
    measure,
    currency,
    closed_amount,
    prior_restated_amount,
    current_amount,
    restatement_amount,
    cause,
    $detected_at::timestamptz as detected_at,
    current_business_date,
    current_sale_class,
    current_timezone,
    current_payload_sha256,
    current_fetched_at,
    current_store_id,
from causes
order by restatement_no
