-- One row per settlement of a statement: what a source row, or the events of one order, adds up to.
--
-- Source: statements of the ledger (`ordermart settlements import`).
-- A step: read mart.settlement_lines instead.
--
-- key: entry_no, settlement_no
--
-- platform not null: The platform, as the mapping names it.
-- store_id: As the statement, its file of stores or the store's name says; null if none does.
-- order_id null: The order's id, as stated; null if the statement has none.
-- short_no BIGINT null: The order's number within a store and day; null if the statement has ids, or none.
-- short_modulus BIGINT null: A short number is the order's id modulo this.
-- order_date DATE null: The order's day, as stated.
-- ordered_at TIMESTAMPTZ null: The order's time, where the statement says the zone.
-- ordered_at_local TIMESTAMP null: The order's time, where the statement has that of the store.
-- window_minutes BIGINT >= 0: How far the order's time may be from ours.
-- currency not null: The currency of its amounts.
with sources as (
    select
        entry_no,
        any_value(platform) as platform,
        any_value(short_modulus) as short_modulus,
        any_value(window_minutes) as window_minutes,
    from raw.settlement_statements
    group by entry_no
),

named_stores as (
    select name as store_ref, any_value(store_id) as store_id
    from core.stores
    where name is not null
    group by name
    having count(*) = 1
),

lines as (
    select
        lines.*,
        coalesce(lines.store_id, named_stores.store_id) as our_store_id,
    from raw.settlement_lines as lines
    left join named_stores using (store_ref)
),

-- a time with a zone is on the store's day
dated as (
    select
        lines.* exclude (line_date),
        coalesce(
            cast(make_timestamp(epoch_us(lines.line_at) + offsets.offset_us) as date),
            lines.line_date
        ) as line_date,
    from lines
    left join core.stores as stores on lines.our_store_id = stores.store_id
    asof left join raw.zone_offsets as offsets
        on stores.timezone = offsets.timezone
        and epoch_us(lines.line_at) >= offsets.from_us
)

select
    entry_no,
    settlement_no,
    -- what it is about
    any_value(sources.platform) as platform,
    any_value(lines.kind) as statement_kind,
    any_value(lines.statement_ref) as statement_ref,
    any_value(lines.our_store_id) as store_id,
    any_value(lines.order_ref) as order_ref,
    any_value(lines.order_id) as order_id,
    any_value(lines.short_no) as short_no,
    any_value(sources.short_modulus) as short_modulus,
    -- when
    min(lines.line_date) as line_date,
    any_value(lines.order_date) as order_date,
    any_value(lines.period_from) as period_from,
    any_value(lines.period_to) as period_to,
    any_value(lines.ordered_at) as ordered_at,
    any_value(lines.ordered_at_local) as ordered_at_local,
    any_value(sources.window_minutes) as window_minutes,
    -- money: a component that a settlement lacks adds nothing to it
    any_value(lines.order_count) as stated_order_count,
    any_value(lines.currency) as currency,
    coalesce(
        sum(lines.amount) filter (
            where lines.kind in ('order', 'total')
            and lines.component in ('items', 'delivery', 'tip', 'promotion', 'gross')
        ), 0
    ) as gross_amount,
    -- of refunds and fees also their gross
    coalesce(
        sum(lines.amount) filter (
            where lines.component in ('adjustment', 'refund')
            or lines.kind not in ('order', 'total')
            and lines.component in ('items', 'delivery', 'tip', 'promotion', 'gross')
        ), 0
    ) as refund_amount,
    sum(lines.amount) - gross_amount - refund_amount as cost_amount,
    sum(lines.amount) as net_amount,
from dated as lines
inner join sources using (entry_no)
group by entry_no, settlement_no
