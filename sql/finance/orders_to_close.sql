-- One row per order of the days and stores in `close_scope`, in the shape of the ledger.
with orders as (
    select orders.*
    from mart.orders as orders
    semi join (from close_scope where not is_excluded) as included
        on orders.business_date = included.business_date
        and (included.store_id is null or orders.store_id = included.store_id)
    anti join (from close_scope where is_excluded) as excluded using (business_date, store_id)
)

select
    orders.order_id, orders.store_id, orders.business_date, orders.sale_class, orders.status, orders.currency,
    orders.timezone, known._payload_sha256 as payload_sha256, orders._fetched_at as fetched_at,
    orders.last_checked_at,
    orders.$price,
    sums.line_amount, rules.line_rule, rules.line_open_parts, rules.subtotal_basis, rules.total_rule,
    rules.total_basis, orders.platform, parts.total_parts, parts.total_part_amounts, parts.total_residual,
    parts.break_content,
from orders
inner join core.orders as known using (order_id)
inner join mart.order_reconciliation as sums using (order_id)
inner join audit.order_rules as rules using (order_id)
inner join order_total_parts as parts using (order_id)
order by orders.business_date, orders.order_id
