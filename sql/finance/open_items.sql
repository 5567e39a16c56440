-- One row per matter that a release leaves open: its kind, its key, by how much it is off, and since when it is open.
--
-- Reads the view `open_breaks`. Amounts of two kinds are never added up. An unmapped order is off by all of its total.
select
    'break' as kind, break_key as item, currency, abs_residual as amount, business_date as since_date,
from open_breaks
union all
select
    'restatement', restatement_no::varchar, currency,
    if(measure = 'order_count', null, abs(restatement_amount)), detected_at::date,
from mart.restatements
where posted_period is null and is_close_active and restatement_amount <> 0
union all
select
    'control total', concat_ws('/', business_date, store_id, amount_field, sale_classes),
    stores.currency, abs(amount_variance), business_date,
from audit.control_totals
left join (
    select store_id, max(currency) as currency from mart.daily_store_sales group by store_id
) as stores using (store_id)
where tie_out_status = 'variance'
union all
select 'settlement', break_key, currency, abs(amount), since_date,
from audit.settlement_breaks
where state <> 'accepted'
union all
select 'unmapped', order_id::varchar, currency, total_price, business_date
from mart.orders
where sale_class = 'unmapped'
union all
select
    'rejected', concat_ws('/', kind, coalesce(entity_id::varchar, load_id || ':' || seq), reason, pointer), null, null,
    first_seen_at::date,
from audit.quarantine
where is_unresolved
union all
select 'untested', order_id::varchar, null, null, business_date,
from mart.order_reconciliation
where verdict = 'indeterminate'
