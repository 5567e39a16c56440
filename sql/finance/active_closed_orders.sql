-- One row per order of `closed_orders` whose close is active by `day_closes`.
select
    closed.* exclude (entry_no),
    closed.entry_no as close_entry_no,
from closed_orders as closed
$closes_of closed in day_closes
where
    closed.entry_no
    = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
    and closed.business_date between $first_day and $last_day
order by closed.business_date, closed.order_id, closed.entry_no
