-- One row per set of statuses that could be the sales: how many store-days it ties.
--
-- A store-day is comparable where control totals of its sales (class counted) stand and
-- its orders state what they add up. It ties under a set when the orders with a status
-- of the set are as many, and come to as much, as was stated. It tells two sets apart
-- when they come to different figures. Sets are masks over the statuses met on such
-- days; store-days that answer alike are worked out once.
with

settings as (
    select
        sales_counted as counted,
        formula_min_distinguishing_orders as min_days,
        formula_max_violation_rate as noise,
    from raw.settings
),

stated as (
    select store_id, business_date, amount_field, order_count, amount,
    from raw.control_totals
    where sale_classes = 'counted'
),

held as (
    select
        stated.store_id,
        stated.business_date,
        stated.amount_field,
        coalesce(orders.status, '(none)') as status,
        stated.order_count as stated_orders,
        stated.amount as stated_amount,
        case stated.amount_field
            when 'subtotal_price' then orders.subtotal_price
            when 'delivery_price' then orders.delivery_price
            when 'tip' then orders.tip
            when 'discount' then orders.discount
            when 'loyalty_discount' then orders.loyalty_discount
            when 'total_price' then orders.total_price
        end as part,
    from stated
    inner join mart.orders as orders
        on stated.store_id = orders.store_id
        and stated.business_date = orders.business_date
    where not orders.is_deleted
),

known as (
    select
        status,
        row_number() over (order by status) - 1 as place,
        count(*) over () as statuses,
    from (select distinct status from held)
),

parts as (
    select
        held.store_id,
        held.business_date,
        held.amount_field,
        held.stated_orders,
        held.stated_amount,
        cast(1 as bigint) << known.place as bit,
        count(*) as orders,
        sum(held.part) as amount,
        held.stated_amount is null or count(held.part) = count(*) as is_whole,
    from held
    inner join known on held.status = known.status
    where known.statuses <= 10
    group by
        held.store_id,
        held.business_date,
        held.amount_field,
        held.stated_orders,
        held.stated_amount,
        known.place
),

days as (
    select
        store_id,
        business_date,
        bit_or(bit) as present,
    from parts
    group by store_id, business_date
    having bool_and(is_whole)
),

-- The sets as far as a day knows them: those of its own statuses.
subsets as (
    select
        present,
        subset,
    from (select distinct present from days)
    cross join range(1024) as every (subset)
    where subset & present = subset
),

figures as (
    select
        days.store_id,
        days.business_date,
        days.present,
        subsets.subset,
        parts.amount_field,
        -- no order of the set: none of them, and no money
        sum(if(parts.bit & subsets.subset <> 0, parts.orders, 0)) as orders,
        sum(if(parts.bit & subsets.subset <> 0, parts.amount, 0)) as amount,
        any_value(parts.stated_orders) as stated_orders,
        any_value(parts.stated_amount) as stated_amount,
    from days
    inner join subsets on days.present = subsets.present
    inner join parts
        on days.store_id = parts.store_id
        and days.business_date = parts.business_date
    group by
        days.store_id,
        days.business_date,
        days.present,
        subsets.subset,
        parts.amount_field
),

answers as (
    select
        store_id,
        business_date,
        present,
        subset,
        bool_and(
            coalesce(orders = stated_orders, true)
            and coalesce(amount = stated_amount, true)
        ) as is_tied,
        list(
            [if(stated_orders is null, null, orders), if(stated_amount is null, null, amount)]
            order by amount_field
        ) as come_to,
    from figures
    group by store_id, business_date, present, subset
),

-- alike: the first set of the day that comes to the same figures
named as (
    select
        *,
        min(subset) over (partition by store_id, business_date, come_to) as alike,
    from answers
),

patterns as (
    select
        row_number() over () as pattern_no,
        present,
        answered,
        count(*) as days,
    from (
        select
            present,
            list(
                struct_pack(subset := subset, alike := alike, is_tied := is_tied)
                order by subset
            ) as answered,
        from named
        group by store_id, business_date, present
    )
    group by present, answered
),

spread as (
    select
        pattern_no,
        present,
        days,
        unnest(answered, recursive := true),
    from patterns
),

sets as (
    select mask
    from range(1, 1024) as every (mask)
    where mask < 1 << (select max(statuses) from known where statuses <= 10)
),

outcomes as (
    select
        sets.mask,
        spread.pattern_no,
        spread.days,
        spread.alike,
        spread.is_tied,
    from sets
    inner join spread on sets.mask & spread.present = spread.subset
),

counted as (
    select
        mask,
        sum(days) as days,
        coalesce(sum(days) filter (where is_tied), 0) as tied,
    from outcomes
    group by mask
),

leader as (
    select mask from counted order by tied desc, bit_count(mask), mask limit 1
),

compared as (
    select
        rivals.mask,
        coalesce(sum(rivals.days) filter (where rivals.alike <> leads.alike), 0)
            as telling,
        coalesce(
            sum(rivals.days) filter (where rivals.alike <> leads.alike and leads.is_tied),
            0
        ) as lost,
        coalesce(
            sum(rivals.days) filter (where rivals.alike <> leads.alike and rivals.is_tied),
            0
        ) as won,
    from outcomes as rivals
    inner join outcomes as leads
        on rivals.pattern_no = leads.pattern_no
        and leads.mask = (select mask from leader)
    group by rivals.mask
),

judged as (
    select
        compared.*,
        counted.days,
        counted.tied,
        compared.mask = (select mask from leader) as is_leader,
        telling >= min_days and lost >= (1 - noise) * telling as is_beaten,
        tied >= (1 - noise) * days as is_holding,
        min_days,
    from compared
    inner join counted on compared.mask = counted.mask
    cross join settings
),

rivalry as (
    select
        count(*) filter (where not is_leader and not is_beaten) as standing,
        arg_min(struct_pack(mask := mask, telling := telling, lost := lost), (telling, mask))
            filter (where not is_leader and not is_beaten) as closest,
    from judged
),

names as (
    select
        sets.mask,
        list(known.status order by known.place) as statuses,
    from sets
    inner join known on sets.mask & (cast(1 as bigint) << known.place) <> 0
    group by sets.mask
),

-- [sales] may name statuses that no such day has: they make no difference here
in_force as (
    select coalesce(cast(sum(cast(1 as bigint) << known.place) as bigint), 0) as mask
    from known
    cross join settings
    where list_contains(settings.counted, known.status)
)

select
    -- keys
    names.statuses,
    -- the answer
    judged.mask = in_force.mask as is_configured,
    case
        when is_leader and standing = 0 and is_holding and days >= min_days
            then 'proposed'
        when is_leader then 'undecided'
        when is_beaten then 'refuted'
        when telling = 0 then 'untold'
        else 'undecided'
    end as verdict,
    case
        when not is_leader then null
        when days < min_days
            then days || ' store-days can be compared, ' || min_days || ' are asked for'
        when not is_holding
            then 'no set ties enough: the best one ties ' || tied || ' of ' || days
                || ' store-days'
        when standing > 0
            then closest.telling || ' store-days tell it from '
                || array_to_string(others.statuses, ' + ') || ', of which it ties '
                || closest.lost || ': too few'
        else 'ties ' || tied || ' of ' || days || ' store-days, and its rivals fail'
    end as reason,
    -- store-days
    cast(days as bigint) as days,
    cast(tied as bigint) as days_tied,
    cast(telling as bigint) as telling_days,
    cast(won as bigint) as telling_days_tied,
from judged
inner join names on judged.mask = names.mask
cross join rivalry
cross join in_force
left join names as others on closest.mask = others.mask

union all

select
    list(status order by place) as statuses,
    false as is_configured,
    'undecided' as verdict,
    count(*) || ' statuses: of more than 10, sets are not compared' as reason,
    0 as days,
    0 as days_tied,
    0 as telling_days,
    0 as telling_days_tied,
from known
where statuses > 10
having count(*) > 0
