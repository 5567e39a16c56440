-- One row per order of `closed_orders` whose close is active by `day_closes`.
with

every_store as (
    select business_date, close_entry_no from day_closes where is_every_store
),

own as (
    select business_date, store_id, close_entry_no from day_closes where not is_every_store
)

select
    closed.* exclude (entry_no),
    closed.entry_no as close_entry_no,
from closed_orders as closed
left join own
    on closed.business_date = own.business_date
    and closed.store_id = own.store_id
left join every_store on closed.business_date = every_store.business_date
where
    closed.entry_no
    = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
    and closed.business_date between $first_day and $last_day
order by closed.business_date, closed.order_id, closed.entry_no
