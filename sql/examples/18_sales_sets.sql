-- Which sets of statuses tie to the control totals of most store-days?
with placed as (
    select
        totals.store_id, totals.business_date,
        totals.control_order_count, totals.control_amount,
        coalesce(orders.status, '(none)') as status,
        count(*) as order_count,
        sum(orders.total_price) as total_price,
    from audit.control_totals as totals
    inner join mart.orders as orders using (store_id, business_date)
    where totals.sale_classes = 'counted' and totals.amount_field = 'total_price'
        and not orders.is_deleted
    group by all
),

-- of the eight statuses of most store-days
statuses as (
    select status, row_number() over (order by count(*) desc, status) - 1 as place,
    from placed
    group by status
    qualify place < 8
),

sets as (
    select mask, list(status order by status) as statuses,
    from range(1, (select 1 << count(*) from statuses)) as masks (mask)
    inner join statuses on (mask >> place) & 1 = 1
    group by mask
),

compared as (
    select
        statuses,
        coalesce(sum(order_count) filter (where list_contains(statuses, status)), 0)
            as set_count,
        coalesce(sum(total_price) filter (where list_contains(statuses, status)), 0)
            as set_amount,
        coalesce(set_count = control_order_count, true)
        and coalesce(set_amount = control_amount, true) as is_tied,
    from placed
    cross join sets
    group by statuses, store_id, business_date, control_order_count, control_amount
)

select
    statuses,
    count(*) filter (where is_tied) as tied_store_days,
    count(*) as store_days,
from compared
group by statuses
order by tied_store_days desc, len(statuses), statuses
