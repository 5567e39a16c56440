-- One row per settlement and order that it settles, or may settle.
--
-- Source: workings.settlement_rows, mart.orders.
-- A step: read mart.settlement_matches instead.
--
-- key: entry_no, settlement_no, order_id
--
-- match_rule ENUM('amount_and_time', 'order_id', 'period', 'short_number'): By which the order was found.
-- match_state ENUM('differs', 'group', 'matched', 'not_a_sale', 'not_ours', 'one_of', 'settled_twice'): As in mart.settlement_matches.
-- surplus ENUM('orders', 'settlements') null: Of one_of by amount and time, of which there are more, if each of the others has one of its own: so many are settled, in amount. Null if nothing is settled for certain, and of all others.
-- match_id: The match that it belongs to.

-- Four rules find orders: by id; by short number; by store, amount and time; all orders of a store and period. An order
-- that an id or a number names is no candidate by time. The third rule compares runs: orders with one amount are
-- numbered by time, each line reaches those within its window, and lines that reach the same order are a group. Two
-- lines of 12.50 at 12:00 and 12:05 that both reach the orders at 12:01 and 12:04 are a group, two for two, whichever is
-- whose; with a third such order they are one_of, and two of the three are settled in amount. The first settlement of an
-- order claims it; a second one settles it twice, unless both make up its total.
with platforms as (
    select
        platform,
        arg_max(statements.timezone, statements.entry_no) as timezone,
        -- of an order without a currency it is that of all statements
        any_value(settlements.currency) as currency,
    from raw.settlement_statements as statements
    left join (
        select platform, if(min(currency) = max(currency), min(currency), null) as currency,
        from workings.settlement_rows group by platform
    ) as settlements using (platform)
    group by platform
),
scopes as (select distinct platform, unnest(order_platforms) as order_platform from raw.settlement_statements),
orders as (
    select
        scopes.platform as settled_by, platforms.timezone as day_zone, orders.order_id, orders.store_id,
        orders.sale_class,
        coalesce(orders.currency, platforms.currency) as currency,
        orders.created_at, orders.created_at_local, orders.total_price, orders.platform as sold_on,
        epoch_us(orders.created_at) as created_us,
    from mart.orders as orders
    inner join scopes on orders.platform = scopes.order_platform
    inner join platforms on scopes.platform = platforms.platform
),
-- an order is on the day of the mapping's zone
dated as (
    select
        orders.*,
        if(
            orders.day_zone = 'store',
            cast(orders.created_at_local as date),
            cast(make_timestamp(orders.created_us + offsets.offset_us) as date)
        ) as order_date,
    from orders
    asof left join raw.zone_offsets as offsets
        on orders.day_zone = offsets.timezone and orders.created_us >= offsets.from_us
),
sales as (from dated where sale_class = 'counted'),
-- 1: by id; another store or currency is another order, but for costs, which claim nothing
by_id as (
    select
        settlements.entry_no, settlements.settlement_no, known.order_id, 'order_id' as match_rule,
        case
            when orders.order_id is null
                or settlements.store_id <> orders.store_id
                or (settlements.currency <> orders.currency and settlements.statement_kind <> 'fee')
                then 'not_ours'
            when orders.sale_class <> 'counted' then 'not_a_sale'
            else 'matched'
        end as match_state,
    from workings.settlement_rows as settlements
    inner join mart.orders as known on settlements.order_id = known.order_id
    left join orders on settlements.platform = orders.settled_by and settlements.order_id = orders.order_id
    where settlements.statement_kind <> 'total'
),
-- 2: by a number that is unique only within a store and a day: of a sale if there is one
by_number as (
    select
        settlements.entry_no, settlements.settlement_no, dated.order_id, 'short_number' as match_rule,
        dated.sale_class = 'counted' as is_sale,
        case
            when not is_sale then 'not_a_sale'
            when count(*) filter (where is_sale) over same = 1 then 'matched'
            else 'one_of'
        end as match_state,
    from workings.settlement_rows as settlements
    inner join dated
        on settlements.platform = dated.settled_by
        and settlements.store_id = dated.store_id
        and settlements.order_date = dated.order_date
        and settlements.short_no = dated.order_id % settlements.short_modulus
        and settlements.currency = dated.currency
    where settlements.statement_kind <> 'total'
    window same as (partition by settlements.entry_no, settlements.settlement_no)
    qualify is_sale or not bool_or(is_sale) over same
),
-- an order that an id or a number names is no candidate of the other rules
named as (
    select distinct settlements.platform, found.order_id
    from (from by_id union all by name select * exclude (is_sale) from by_number) as found
    inner join workings.settlement_rows as settlements using (entry_no, settlement_no)
    where found.match_state = 'matched' and settlements.statement_kind = 'order'
),
-- 3: by store, exact amount and time. Orders of one amount are numbered by time; each
-- settlement has a run of them, and runs that share an order are one group
timed as (
    select
        entry_no, settlement_no, platform, store_id, currency, gross_amount,
        (platform, store_id, currency, gross_amount) as same,
        coalesce(epoch_us(ordered_at), epoch_us(ordered_at_local)) as at_us,
        ordered_at_else,
        ordered_at is null as is_local,
        window_minutes * 60000000 as window_us,
    from workings.settlement_rows
    where statement_kind = 'order' and order_ref is null and at_us is not null
),
numbered as (
    select
        order_id, settled_by as platform, sold_on, store_id, currency, total_price, created_us,
        epoch_us(created_at_local) as local_us,
        row_number() over (
            partition by settled_by, store_id, currency, total_price
            order by created_us, order_id
        ) as order_no,
    from sales where (settled_by, order_id) not in (from named)
),
reached as (
    select
        timed.entry_no, timed.settlement_no, timed.same, numbered.order_id, numbered.order_no, numbered.sold_on,
    from timed
    inner join numbered
        on timed.platform = numbered.platform
        and timed.store_id = numbered.store_id
        and timed.currency = numbered.currency
        and timed.gross_amount = numbered.total_price
        and least(
            abs(if(timed.is_local, numbered.local_us, numbered.created_us) - timed.at_us),
            abs(numbered.created_us - epoch_us(timed.ordered_at_else)) -- null where it is no other
        ) <= timed.window_us
),
runs as (
    select entry_no, settlement_no, same, min(order_no) as first_no, max(order_no) as last_no,
    from reached group by all
),
islands as (
    select
        *,
        sum(if(first_no > before_no, 1, 0)) over (
            partition by same order by first_no, last_no, entry_no, settlement_no
        ) as island_no,
    from (
        select
            *,
            max(last_no) over (
                partition by same order by first_no, last_no, entry_no, settlement_no
                rows between unbounded preceding and 1 preceding
            ) as before_no,
        from runs
    )
),
groups as (
    select
        entry_no, settlement_no,
        min(entry_no || '/' || settlement_no) over island as group_ref,
        count(*) over island as settlement_count,
        max(last_no) over island - min(first_no) over island + 1 as order_count,
        row_number() over (partition by same, island_no order by first_no, last_no, entry_no, settlement_no) as place,
    from islands
    window island as (partition by same, island_no)
),
-- of the side that has fewer, each has a run of the other
sides as (
    select
        groups.group_ref, groups.settlement_count, groups.order_count,
        if(settlement_count <= order_count, groups.place, reached.order_no) as own_no,
        min(if(settlement_count <= order_count, reached.order_no, groups.place)) as first_no,
        max(if(settlement_count <= order_count, reached.order_no, groups.place)) as last_no,
        last_no - first_no + 1 = count(*) as is_run,
        min(reached.sold_on) as first_platform, max(reached.sold_on) as last_platform,
    from reached inner join groups using (entry_no, settlement_no) group by all
),
-- in order of time each takes the first of its run that is left; if one finds none, nothing is settled. Which of more
-- orders are settled is unknown: so they need to be of one platform
paired as (
    select group_ref
    from (
        select
            *,
            own_no + max(first_no - own_no) over (partition by group_ref order by own_no) as partner_no,
        from sides
    )
    group by group_ref, settlement_count, order_count
    having
        count(*) = least(settlement_count, order_count)
        and bool_and(is_run and partner_no <= last_no)
        and (order_count <= settlement_count or min(first_platform) = max(last_platform))
),
by_time as (
    select
        reached.entry_no, reached.settlement_no, reached.order_id, 'amount_and_time' as match_rule,
        case
            when paired.group_ref is null or groups.settlement_count <> groups.order_count then 'one_of'
            when groups.order_count = 1 then 'matched'
            else 'group'
        end as match_state,
        case
            when paired.group_ref is null then null
            when groups.order_count > groups.settlement_count then 'orders'
            when groups.order_count < groups.settlement_count then 'settlements'
        end as surplus,
        groups.group_ref,
    from reached inner join groups using (entry_no, settlement_no) left join paired using (group_ref)
),
-- 4: all orders of a store and period, if count and amount are the same
by_period as (
    select
        settlements.entry_no, settlements.settlement_no, sales.order_id, 'period' as match_rule,
        if(
            count(*) over same
            = coalesce(settlements.stated_order_count, count(*) over same)
            and sum(sales.total_price) over same = settlements.gross_amount
            and count(sales.total_price) over same = count(*) over same,
            'group', 'differs'
        ) as match_state,
    from workings.settlement_rows as settlements
    inner join sales
        on settlements.platform = sales.settled_by
        and settlements.store_id = sales.store_id
        and settlements.currency = sales.currency
        and sales.order_date between settlements.period_from and settlements.period_to
    where settlements.statement_kind = 'total'
    window same as (partition by settlements.entry_no, settlements.settlement_no)
),
found as (
    from by_id
    union all by name
    select * exclude (is_sale) from by_number
    union all by name
    from by_time
    union all by name
    from by_period
),
-- the first settlement of an order claims it; additions complete the claim
claiming as (
    select
        found.*,
        settlements.platform, settlements.statement_kind,
        settlements.statement_kind in ('order', 'total', 'addition')
        and found.match_rule <> 'amount_and_time' -- these are compared with each other
        and found.match_state in ('matched', 'group', 'differs') as is_claim,
        row_number() over claims as claim_no,
        first_value(found.match_rule) over claims as first_rule,
        first_value(concat_ws('/', found.entry_no, found.settlement_no)) over claims as claim_ref,
        sum(settlements.gross_amount) over claims = known.total_price as is_whole,
        bool_or(
            found.match_rule = 'amount_and_time'
            and (found.match_state in ('matched', 'group') or found.surplus is not null)
        ) over (partition by settlements.platform, found.order_id) as has_line,
    from found
    inner join workings.settlement_rows as settlements using (entry_no, settlement_no)
    inner join mart.orders as known on found.order_id = known.order_id
    window claims as (
        partition by settlements.platform, found.order_id, is_claim
        order by settlements.statement_kind = 'addition', settlements.line_date, found.entry_no, found.settlement_no
        rows between unbounded preceding and current row
    )
),
-- so do settlements that with those before are the order's total, to the cent: one cannot be a repeat of another
claims as (
    select
        *,
        is_claim and match_rule <> 'period' and first_rule <> 'period'
        and (
            statement_kind = 'addition'
            or coalesce(
                claim_no <= min(claim_no) filter (where is_whole) over (partition by platform, order_id, is_claim),
                false
            )
        ) as is_addition,
    from claiming
)

select
    entry_no, settlement_no, order_id, match_rule,
    if(
        bool_or(is_claim and ((claim_no > 1 and not is_addition) or has_line)) over (partition by entry_no, settlement_no),
        'settled_twice', match_state
    ) as match_state,
    surplus,
    case match_rule
        when 'amount_and_time' then 'group:' || group_ref
        when 'period' then 'period:' || entry_no || '/' || settlement_no
        else 'line:' || if(is_addition and not has_line, claim_ref, entry_no || '/' || settlement_no)
    end as match_id,
from claims
