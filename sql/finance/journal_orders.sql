-- One row per counted order of the active closes of some days, and of `drafted`, orders of open days.
--
-- Of a close that did not record platform and parts they are those of the release, if it
-- has the same document; else they are unknown. Reads the release, attached as the
-- default database, temp.order_total_parts, and the sources in `memory`.
with closed as (
    select orders.*
    from memory.raw.closed_orders as orders
    $closes_of orders in memory.raw.day_closes
    where
        orders.close_entry_no
        = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
        and orders.business_date between $first_day and $last_day
    union all by name
    from temp.drafted
)

select
    closed.order_id, closed.store_id, closed.business_date, closed.currency, closed.close_entry_no,
    closed.$price,
    if(closed.total_parts is null, orders.platform, closed.platform) as platform,
    if(closed.total_parts is null, parts.total_parts, closed.total_parts) as total_parts,
    if(closed.total_parts is null, parts.total_part_amounts, closed.total_part_amounts) as total_part_amounts,
    if(closed.total_parts is null, parts.total_residual, closed.total_residual) as total_residual,
    if(closed.total_parts is null, parts.break_content, closed.break_content) as break_content,
from closed
left join core.orders as known
    on if(closed.total_parts is null, closed.order_id, null) = known.order_id
    and closed.payload_sha256 = known._payload_sha256
left join mart.orders as orders on known.order_id = orders.order_id
left join temp.order_total_parts as parts on known.order_id = parts.order_id
where closed.sale_class = 'counted'
order by closed.business_date, closed.store_id, closed.order_id
