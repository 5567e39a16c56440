-- One row per set of statuses that may count as sales: the store-days that it ties.
--
-- A store-day is comparable if it has control totals of its sales (class counted) and
-- its orders state the amounts that these add up. It ties under a set when the orders
-- with a status of the set equal the totals in number and amount. It distinguishes two
-- sets whose figures differ. Sets are bit masks over the statuses of such days;
-- store-days with equal results are evaluated once.
with

settings as (
    select
        sales_counted as counted,
        formula_min_distinguishing_orders as min_day_count,
        formula_max_violation_rate as noise,
    from raw.settings
),

stated as (
    select
        store_id,
        business_date,
        amount_field,
        order_count,
        amount,
    from raw.control_totals
    where sale_classes = 'counted'
),

actual as (
    select
        stated.store_id,
        stated.business_date,
        stated.amount_field,
        coalesce(orders.status, '(none)') as status,
        stated.order_count as stated_order_count,
        stated.amount as stated_amount,
        case stated.amount_field
            when 'subtotal_price' then orders.subtotal_price
            when 'delivery_price' then orders.delivery_price
            when 'tip' then orders.tip
            when 'discount' then orders.discount
            when 'loyalty_discount' then orders.loyalty_discount
            when 'total_price' then orders.total_price
        end as amount,
    from stated
    inner join mart.orders as orders
        on stated.store_id = orders.store_id
        and stated.business_date = orders.business_date
    where not orders.is_deleted
),

known as (
    select
        status,
        row_number() over (order by status) - 1 as bit_no,
        count(*) over () as status_count,
    from (select distinct status from actual)
),

parts as (
    select
        actual.store_id,
        actual.business_date,
        actual.amount_field,
        actual.stated_order_count,
        actual.stated_amount,
        cast(1 as bigint) << known.bit_no as bit,
        count(*) as order_count,
        sum(actual.amount) as amount,
        actual.stated_amount is null or count(actual.amount) = count(*) as is_complete,
    from actual
    inner join known on actual.status = known.status
    where known.status_count <= 10
    group by
        actual.store_id,
        actual.business_date,
        actual.amount_field,
        actual.stated_order_count,
        actual.stated_amount,
        known.bit_no
),

days as (
    select
        store_id,
        business_date,
        bit_or(bit) as day_mask,
    from parts
    group by store_id, business_date
    having bool_and(is_complete)
),

-- subsets of the statuses that occur on a day
subsets as (
    select
        day_mask,
        subset,
    from (select distinct day_mask from days)
    cross join range(1024) as every (subset)
    where subset & day_mask = subset
),

figures as (
    select
        days.store_id,
        days.business_date,
        days.day_mask,
        subsets.subset,
        parts.amount_field,
        -- no order of the set: zero orders, zero amount
        sum(if(parts.bit & subsets.subset <> 0, parts.order_count, 0)) as order_count,
        sum(if(parts.bit & subsets.subset <> 0, parts.amount, 0)) as amount,
        any_value(parts.stated_order_count) as stated_order_count,
        any_value(parts.stated_amount) as stated_amount,
    from days
    inner join subsets on days.day_mask = subsets.day_mask
    inner join parts
        on days.store_id = parts.store_id
        and days.business_date = parts.business_date
    group by
        days.store_id,
        days.business_date,
        days.day_mask,
        subsets.subset,
        parts.amount_field
),

results as (
    select
        store_id,
        business_date,
        day_mask,
        subset,
        bool_and(
            coalesce(order_count = stated_order_count, true)
            and coalesce(amount = stated_amount, true)
        ) as is_tied,
        list(
            [
                if(stated_order_count is null, null, order_count),
                if(stated_amount is null, null, amount)
            ]
            order by amount_field
        ) as totals,
    from figures
    group by store_id, business_date, day_mask, subset
),

-- alike_subset: the first subset of the day with the same figures
grouped as (
    select
        *,
        min(subset) over (partition by store_id, business_date, totals) as alike_subset,
    from results
),

patterns as (
    select
        row_number() over () as pattern_no,
        day_mask,
        results,
        count(*) as store_day_count,
    from (
        select
            day_mask,
            list(
                struct_pack(
                    subset := subset,
                    alike_subset := alike_subset,
                    is_tied := is_tied
                )
                order by subset
            ) as results,
        from grouped
        group by store_id, business_date, day_mask
    )
    group by day_mask, results
),

spread as (
    select
        pattern_no,
        day_mask,
        store_day_count,
        unnest(results, recursive := true),
    from patterns
),

sets as (
    select mask
    from range(1, 1024) as every (mask)
    where mask < 1 << (select max(status_count) from known where status_count <= 10)
),

outcomes as (
    select
        sets.mask,
        spread.pattern_no,
        spread.store_day_count,
        spread.alike_subset,
        spread.is_tied,
    from sets
    inner join spread on sets.mask & spread.day_mask = spread.subset
),

counted as (
    select
        mask,
        sum(store_day_count) as store_day_count,
        coalesce(sum(store_day_count) filter (where is_tied), 0) as tied_count,
    from outcomes
    group by mask
),

leader as (
    select mask from counted order by tied_count desc, bit_count(mask), mask limit 1
),

-- each set against the leader on every pattern
pairs as (
    select
        rivals.mask,
        rivals.store_day_count,
        rivals.is_tied,
        leads.is_tied as is_leader_tied,
        rivals.alike_subset <> leads.alike_subset as is_distinguishing,
    from outcomes as rivals
    inner join outcomes as leads
        on rivals.pattern_no = leads.pattern_no
        and leads.mask = (select mask from leader)
),

compared as (
    select
        mask,
        coalesce(sum(store_day_count) filter (where is_distinguishing), 0)
            as distinguishing_count,
        coalesce(
            sum(store_day_count) filter (where is_distinguishing and is_leader_tied), 0
        ) as leader_tied_count,
        coalesce(sum(store_day_count) filter (where is_distinguishing and is_tied), 0)
            as rival_tied_count,
    from pairs
    group by mask
),

verdicts as (
    select
        compared.*,
        counted.store_day_count,
        counted.tied_count,
        compared.mask = (select mask from leader) as is_leader,
        distinguishing_count >= min_day_count
        and leader_tied_count >= (1 - noise) * distinguishing_count as is_beaten,
        tied_count >= (1 - noise) * store_day_count as is_holding,
        min_day_count,
    from compared
    inner join counted on compared.mask = counted.mask
    cross join settings
),

rivalry as (
    select
        count(*) filter (where not is_leader and not is_beaten) as unbeaten_count,
        arg_min(
            struct_pack(
                mask := mask,
                distinguishing_count := distinguishing_count,
                leader_tied_count := leader_tied_count
            ),
            (distinguishing_count, mask)
        ) filter (where not is_leader and not is_beaten) as closest,
    from verdicts
),

names as (
    select
        sets.mask,
        list(known.status order by known.bit_no) as statuses,
    from sets
    inner join known on sets.mask & (cast(1 as bigint) << known.bit_no) <> 0
    group by sets.mask
),

-- [sales] may name statuses that occur on no such day; these are ignored here
configured as (
    select coalesce(cast(sum(cast(1 as bigint) << known.bit_no) as bigint), 0) as mask
    from known
    cross join settings
    where list_contains(settings.counted, known.status)
)

select
    -- keys
    names.statuses,
    -- the verdict
    verdicts.mask = configured.mask as is_configured,
    case
        when is_leader
            and unbeaten_count = 0
            and is_holding
            and store_day_count >= min_day_count
            then 'proposed'
        when is_leader then 'undecided'
        when is_beaten then 'refuted'
        when distinguishing_count = 0 then 'indistinguishable'
        else 'undecided'
    end as verdict,
    case
        when not is_leader then null
        when store_day_count < min_day_count
            then store_day_count || ' comparable store-days; ' || min_day_count
                || ' are required'
        when not is_holding
            then 'no set ties enough: the best one ties ' || tied_count || ' of '
                || store_day_count || ' store-days'
        when unbeaten_count > 0
            then 'too few store-days distinguish it from '
                || array_to_string(others.statuses, ' + ') || ': '
                || closest.distinguishing_count || ', of which it ties '
                || closest.leader_tied_count
        else 'ties ' || tied_count || ' of ' || store_day_count
            || ' store-days; every rival is refuted'
    end as reason,
    -- store-days
    cast(store_day_count as bigint) as store_day_count,
    cast(tied_count as bigint) as tied_store_day_count,
    cast(distinguishing_count as bigint) as distinguishing_day_count,
    cast(rival_tied_count as bigint) as distinguishing_tied_count,
from verdicts
inner join names on verdicts.mask = names.mask
cross join rivalry
cross join configured
left join names as others on closest.mask = others.mask

union all

select
    list(status order by bit_no) as statuses,
    false as is_configured,
    'undecided' as verdict,
    count(*) || ' statuses: sets are compared for up to 10' as reason,
    0 as store_day_count,
    0 as tied_store_day_count,
    0 as distinguishing_day_count,
    0 as distinguishing_tied_count,
from known
where status_count > 10
having count(*) > 0
