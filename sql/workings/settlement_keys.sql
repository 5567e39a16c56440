-- One row per ledger entry of statements and reference on its rows: whether it is the key of our orders.
--
-- Source: workings.settlement_rows and mart.orders. The key is the reference whose orders have the same store, day and amount:
-- that its values exist as ids shows nothing. `ordermart settlements keys` says it of every column of a file.
-- Caveats: columns that the mapping does not name are not kept, so they have no row. Short numbers are no ids. An amount is the same if it is the order's total_price.
--
-- key: entry_no, reference
--
-- reference ENUM('order', 'payout', 'statement'): The name in the mapping.
-- value_count BIGINT >= 0: Settlements of orders that have it.
-- known_count: Those in which it is the id of an order.
-- same_store_count BIGINT >= 0: Of these, in the order's store.
-- same_day_count BIGINT >= 0: Of these, on the order's business date, as the statement states it.
-- same_amount_count BIGINT >= 0: Of these, with the order's amount as gross.
select
    named.entry_no, named.reference, count(named.value) as value_count, count(orders.order_id) as known_count,
    count(*) filter (where named.store_id = orders.store_id) as same_store_count,
    count(*) filter (where named.stated_date = orders.business_date) as same_day_count,
    count(*) filter (where named.gross_amount = orders.total_price) as same_amount_count,
from (
    select
        entry_no, store_id, gross_amount,
        coalesce(order_date, line_date) as stated_date,
        unnest(['order', 'payout', 'statement']) as reference,
        unnest([order_ref, payout_ref, statement_ref]) as value,
    from workings.settlement_rows where statement_kind = 'order'
) as named
left join mart.orders as orders on try_cast(named.value as bigint) = orders.order_id
group by all
