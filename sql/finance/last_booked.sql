-- One row per order with pending restatements that is in the books: what was last booked.
--
-- By a close or a restatement, with the settings and rules of that time. Reads the
-- warehouse, attached as the default database, and the sources and entries in `memory`.
with pending as (from audit.pending_restatements),
booked as (
    select
        order_id, close_entry_no as entry_no, store_id, business_date, sale_class, timezone, payload_sha256,
        last_checked_at as checked_at,
    from memory.raw.closed_orders semi join pending using (order_id)
    union all
    select
        order_id, entry_no, current_store_id, current_business_date, current_sale_class, current_timezone,
        current_payload_sha256, current_fetched_at,
    from memory.raw.restated semi join pending using (order_id)
)

select
    booked.*,
    entries.written_at, entries.business_day_hash, entries.sales_hash, entries.rules_hash,
from booked
inner join memory.entries as entries using (entry_no)
-- the rows of one entry agree about an order: the tie-break is arbitrary
qualify row_number() over (partition by order_id order by entry_no desc, business_date, sale_class) = 1
