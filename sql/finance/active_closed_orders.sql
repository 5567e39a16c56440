-- One row per order of `closed_orders` whose close is active by `day_closes`.
select
    closed.* exclude (entry_no),
    closed.entry_no as close_entry_no,
from closed_orders as closed
left join day_closes as own
    on closed.business_date = own.business_date
    and closed.store_id = own.store_id
    and not own.is_every_store
left join day_closes as every_store
    on closed.business_date = every_store.business_date
    and every_store.is_every_store
where
    closed.entry_no
    = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
    and closed.business_date between $first_day and $last_day
order by closed.business_date, closed.order_id, closed.entry_no
