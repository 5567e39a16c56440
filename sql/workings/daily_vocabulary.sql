-- One row per business day, coded field of the order document, and value that it has.
--
-- Source: orders, their modifiers and deliveries, and every version of them, by the business day of mart.orders: what
-- audit.vocabulary adds up.
--
-- key: business_date, path, value
-- scope: day
--
-- path: Where in the document, as a JSON pointer in which * stands for every element or key.
-- value: The value, exactly as sent.
-- document_count >= 0: How many orders hold it now; 0 where later values took its place.
-- occurrence_count >= 0: How often it occurs in them.
-- first_seen_at: The earliest time at which such a version was first observed; null where all are of unknown time.
-- last_seen_at: The latest time at which such a version was first observed; null where all are of unknown time.
-- example_id: The lowest id of such an order.

-- the first version of orders of several
with grown as (
    select order_id, min(first_seen_at) filter (where version_no = 1) as first_seen_at,
    from core.order_versions group by order_id having count(*) > 1
),
orders as (
    select
        orders.business_date, orders.order_id, orders._fetched_at,
        -- what never changed is as old as the order, not as its latest version
        if(grown.order_id is null, orders._fetched_at, grown.first_seen_at) as first_fetched_at,
        [
            {'path': '/status', 'value': orders.status},
            {'path': '/platform', 'value': orders.platform},
            {'path': '/dispatch_method', 'value': orders.dispatch_method},
        ] as fields,
    from mart.orders as orders left join grown using (order_id)
),
-- values of arrays, first per order: the join is of as many rows as there are orders
counted as (
    select order_id, '/deliveries/*/type' as path, type as value, count(*) as n,
    from core.order_deliveries group by order_id, type
    union all
    select order_id, '/deliveries/*/status' as path, status as value, count(*) as n,
    from core.order_deliveries group by order_id, status
    union all
    select order_id, '/items/*/modifiers/*/action' as path, action, count(*),
    from core.order_line_modifiers group by order_id, action
),
held as (
    select * exclude (fields), 1 as n, unnest(fields, recursive := true) from orders
    union all by name
    select * exclude (fields) from counted inner join orders using (order_id)
),
-- which version brought a value; what later ones took the place of is kept, too
brought as (
    select order_id, '/' || field as path, new_value as value, version_no,
    from core.order_changes where field in ('platform', 'dispatch_method')
    union all
    -- values of the first version
    select order_id, '/' || field as path, old_value as value, 1 as version_no,
    from core.order_changes
    where field in ('platform', 'dispatch_method')
    qualify row_number() over (partition by order_id, field order by version_no) = 1
    union all
    select order_id, '/deliveries/*/type' as path, value, min(version_no) as version_no,
    from (
        select order_id, version_no, unnest(delivery_types) as value,
        from core.order_versions semi join grown using (order_id)
    ) as listed
    group by order_id, value
    union all
    select order_id, '/items/*/modifiers/*/action' as path, action, min(version_no),
    from core.order_line_modifier_versions
    inner join core.order_versions using (order_id, lines_version_no)
    group by order_id, action
),
came as (
    select brought.*, first_seen_at, max(version_no) over of_it = version_no as is_now,
    from brought
    inner join core.order_versions using (order_id, version_no)
    window of_it as (partition by order_id, path, value)
),
replaced as (
    select order_id, path, value, first_seen_at from came
    union all
    select order_id, '/status' as path, status as value, first_seen_at,
    from core.order_status_observations semi join grown using (order_id)
    union all
    select order_id, '/deliveries/*/status' as path, status as value, first_seen_at,
    from core.delivery_status_observations semi join grown using (order_id)
),
used as (
    select
        * exclude (first_seen_at),
        case
            when path like '%/status' then _fetched_at
            when is_now then first_seen_at
            else first_fetched_at
        end as seen_at,
    from held
    left join (from came where is_now) as came using (order_id, path, value)
    union all by name
    select * exclude (fields), first_seen_at as seen_at, 0 as n,
    from replaced inner join orders using (order_id)
)

select
    business_date, path, value,
    count(*) filter (where n > 0) as document_count,
    cast(sum(n) as bigint) as occurrence_count,
    min(seen_at) as first_seen_at, max(seen_at) as last_seen_at,
    bool_or(seen_at is null) as is_of_unknown_time,
    min(order_id) as example_id,
from used
where value is not null
group by business_date, path, value
