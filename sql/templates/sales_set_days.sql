-- One row per store-day with control totals of its sales, amount field and status of its orders.
--
-- Amounts are integers in ten-thousandths. A store-day is_comparable if its orders state
-- each amount that its totals add up, and no sum has more than 17 digits.
with stated as (
    select
        row_number() over (order by store_id, business_date, amount_field) as total_no,
        dense_rank() over (order by store_id, business_date) as store_day_no,
        *,
    from raw.control_totals
    where sale_classes = 'counted'
),

parts as (
    select
        stated.store_day_no, stated.total_no,
        coalesce(orders.status, '(none)') as status,
        any_value(stated.order_count) as stated_order_count,
        any_value(stated.amount) as stated_amount,
        count(*) as order_count,
        count(amount_of(orders, stated.amount_field)) as amount_count,
        sum(amount_of(orders, stated.amount_field)) as amount,
    from stated
    inner join mart.orders as orders using (store_id, business_date)
    where not orders.is_deleted
    group by stated.store_day_no, stated.total_no, coalesce(orders.status, '(none)')
)

select
    store_day_no,
    total_no,
    status,
    stated_order_count,
    coalesce(try_cast(stated_amount * 10000 as bigint), 0) as stated_amount,
    order_count,
    coalesce(try_cast(amount * 10000 as bigint), 0) as amount,
    stated_amount is not null as is_amount_stated,
    bool_and(
        parts.stated_amount is null
        or (
            amount_count = order_count
            and abs(parts.amount) < 90000000000000
            and abs(parts.stated_amount) < 90000000000000
        )
    ) over (partition by store_day_no) as is_comparable,
from parts
order by total_no, status
