-- One row per restatement of a reconciliation; line is null unless it is unposted.
with restatements as (
    select
        *,
        posted_period is null and is_close_active as is_unposted,
    from (select *, closed_business_date as business_date from mart.restatements) as rows
    where $selected
),
lines as (
    select
        restatement_no,
        dense_rank() over (order by currency nulls last, sale_class, measure) as line,
    from restatements where is_unposted and restatement_amount <> 0
),
zones as (select store_id, any_value(timezone) as timezone from mart.orders group by store_id)

select
    lines.line,
    cast(restatements.restatement_no as varchar) as restatement_no,
    cast(restatements.order_id as varchar) as order_id,
    restatements.closed_business_date,
    cast(restatements.store_id as varchar) as store_id,
    stores.name as store_name, restatements.currency, restatements.sale_class, restatements.measure,
    restatements.closed_amount, restatements.prior_restated_amount, restatements.current_amount,
    restatements.restatement_amount, restatements.cause,
    restatements.detected_at at time zone coalesce(zones.timezone, 'UTC') as detected_at,
    coalesce(zones.timezone, 'UTC') as timezone,
    restatements.posted_period,
    case
        when restatements.reversed_period is not null then 'reversed in ' || restatements.reversed_period
        when not restatements.is_close_active then 'day reopened'
        when restatements.is_unposted then 'unposted'
        else 'posted'
    end as state,
from restatements
left join lines using (restatement_no)
left join core.stores as stores using (store_id)
left join zones using (store_id)
order by restatements.restatement_no
