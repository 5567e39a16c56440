-- One row per settlement of a statement: what a source row, or the events of one order, adds up to.
--
-- Source: statements of the ledger (`ordermart settlements import`), and the days of orders that they name by id.
-- A step: read mart.settlement_lines instead.
--
-- key: entry_no, settlement_no
--
-- platform not null: The platform, as the mapping names it.
-- store_id: As the statement, its file of stores or the store's name says; null if none does.
-- order_id null: The order's id, as stated; null if the statement has none.
-- short_no BIGINT null: The order's number within a store and day; null if the statement has ids, or none.
-- short_modulus BIGINT null: A short number is the order's id modulo this.
-- last_line_date: The last day of its lines; line_date is the first.
-- order_date DATE null: The order's day, as stated.
-- sold_on DATE: The business date of the order that it names by id, or the day that it states; else that of its line.
-- ordered_at TIMESTAMPTZ null: The order's time, where the statement says the zone.
-- ordered_at_else TIMESTAMPTZ null: The other time that ordered_at may be: clocks were put back over it.
-- ordered_at_local TIMESTAMP null: The order's time, where the statement has that of the store.
-- window_minutes BIGINT >= 0: How far the order's time may be from ours.
-- currency not null: The currency of its amounts.
-- settled_currency: The currency of its payout.
-- commission_bases DECIMAL(38,4)[]: What a commission may be a share of: gross, items, items less promotions.
-- commission_amount DECIMAL(38,4): The commission, above zero if it costs; it is in cost_amount.
with named_stores as (
    select name as store_ref, any_value(store_id) as store_id
    from core.stores
    where name is not null
    group by name
    having count(*) = 1
),
stated as (
    select
        lines.*,
        sources.platform, sources.short_modulus, sources.window_minutes,
        lines.component in ('items', 'delivery', 'tip', 'promotion', 'gross') as is_gross,
    from raw.settlement_lines as lines
    inner join (
        select distinct entry_no, platform, short_modulus, window_minutes from raw.settlement_statements
    ) as sources using (entry_no)
),
-- rows of refunds that pay an order's parts complete it, if with its own row they are its total, to the cent
completing as (
    select entry_no, settlement_no,
    from (
        select
            sums.*,
            sum(sums.gross_amount) over claims = orders.total_price as is_whole,
            row_number() over claims as place,
        from (
            select
                platform, entry_no, settlement_no, order_id, currency, max(kind) as kind,
                min(line_date) as line_date,
                sum(amount) filter (where is_gross) as gross_amount,
            from stated
            group by platform, entry_no, settlement_no, order_id, currency
            having max(kind) = 'order' or (max(kind) = 'refund' and bool_and(is_gross) and sum(amount) > 0)
        ) as sums
        inner join mart.orders as orders using (order_id, currency)
        window claims as (
            partition by sums.platform, sums.order_id
            order by sums.kind, sums.line_date, sums.entry_no, sums.settlement_no
        )
    )
    window claims as (partition by platform, order_id)
    qualify
        kind = 'refund'
        and min(kind) over claims = 'order'
        and place <= min(place) filter (where is_whole) over claims
),
lines as (
    select
        stated.* replace (if(completing.entry_no is null, stated.kind, 'addition') as kind),
        coalesce(stated.store_id, named_stores.store_id) as our_store_id,
        stated.kind in ('order', 'total', 'addition') or completing.entry_no is not null as is_sale,
    from stated
    left join named_stores using (store_ref)
    left join completing using (entry_no, settlement_no)
),
-- a time with a zone is on the store's day
dated as (
    select
        lines.* exclude (line_date),
        coalesce(
            cast(make_timestamp(epoch_us(lines.line_at) + offsets.offset_us) as date), lines.line_date
        ) as line_date,
    from lines
    left join core.stores as stores on lines.our_store_id = stores.store_id
    asof left join raw.zone_offsets as offsets
        on stores.timezone = offsets.timezone and epoch_us(lines.line_at) >= offsets.from_us
)

-- a component that a settlement lacks adds nothing to it
select
    lines.entry_no, lines.settlement_no, any_value(lines.platform) as platform,
    -- of events that complete or follow an order and stand beside it
    coalesce(max(lines.kind) filter (where lines.kind = 'order'), max(lines.kind)) as statement_kind,
    any_value(lines.statement_ref) as statement_ref, any_value(lines.payout_ref) as payout_ref,
    any_value(lines.our_store_id) as store_id, any_value(lines.order_ref) as order_ref,
    any_value(lines.order_id) as order_id, any_value(lines.short_no) as short_no,
    any_value(lines.short_modulus) as short_modulus, min(lines.line_date) as line_date,
    max(lines.line_date) as last_line_date, any_value(lines.order_date) as order_date,
    coalesce(any_value(orders.business_date), any_value(lines.order_date), min(lines.line_date)) as sold_on,
    any_value(lines.period_from) as period_from, any_value(lines.period_to) as period_to,
    any_value(lines.ordered_at) as ordered_at, any_value(lines.ordered_at_else) as ordered_at_else,
    any_value(lines.ordered_at_local) as ordered_at_local, any_value(lines.window_minutes) as window_minutes,
    any_value(lines.order_count) as stated_order_count, any_value(lines.currency) as currency,
    any_value(lines.settled_currency) as settled_currency,
    sum(if(lines.is_sale and lines.is_gross, lines.amount, 0)) as gross_amount,
    -- of refunds and fees also their gross
    sum(
        if(
            lines.component in ('adjustment', 'refund') or (lines.is_gross and not lines.is_sale), lines.amount, 0
        )
    ) as refund_amount,
    sum(lines.amount) - gross_amount - refund_amount as cost_amount,
    sum(lines.amount) as net_amount,
    [
        gross_amount,
        sum(if(lines.component = 'items', lines.amount, 0)),
        sum(if(lines.component in ('items', 'promotion'), lines.amount, 0)),
    ] as commission_bases,
    -sum(if(lines.component = 'commission', lines.amount, 0)) as commission_amount,
from dated as lines
left join mart.orders as orders on lines.order_id = orders.order_id
group by lines.entry_no, lines.settlement_no
