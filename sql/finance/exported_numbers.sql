-- The numbers of exported entries that an order is in; $accepted: the entries that accept its breaks.
select distinct number from exported inner join mart.orders as orders on order_id = $order_id
where exported.currency = orders.currency and (
    contains(memo, ' of order ' || order_id || ',')
    or contains(number, '-sales-') and sale_class = 'counted'
        and exported.business_date = orders.business_date and exported.store_id is not distinct from orders.store_id
    or contains(number, '-settlement-') and coalesce(exported.store_id, orders.store_id) = orders.store_id
        and (exported.platform, exported.business_date) in (
        select (platform, line_date) from mart.settlement_lines
        where $order_id = order_id
            or match_id in (select match_id from mart.order_settlements where order_id = $order_id)
    )
    or contains(number, '-writeoff-') and source in (select unnest($accepted))
        and exported.business_date in (select since_date from audit.settlement_breaks where order_id = $order_id)
        and coalesce(exported.store_id, orders.store_id) = orders.store_id
) order by number
