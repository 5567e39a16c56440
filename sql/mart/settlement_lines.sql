-- One row per source row and component of an effective statement: its neutral lines.
--
-- Source: the ledger (`ordermart settlements import`). Columns that the mapping does not name were never kept.
-- Caveats: rows are never de-duplicated: a repeat may be a double settlement. A statement that was superseded has no rows.
--
-- key: entry_no, source_row, component
--
-- source_row BIGINT >= 2: The row of the file; the header is row 1.
-- component ENUM('adjustment', 'cash', 'commission', 'commission_tax', 'delivery', 'fee', 'gross', 'items', 'marketing', 'promotion', 'refund', 'tax_collected', 'tax_remitted', 'tip'): Its kind; gross: undivided.
-- platform not null: The platform, as the mapping names it.
-- store_ref VARCHAR null: The store, as the statement calls it.
-- store_id: The store; null if the statement names none, or one that is not known.
-- order_id null: The order's id, as stated; null if the statement has none. It may be unknown: see match_state.
-- currency not null: The currency of the amount.
-- amount DECIMAL(38,4): + the platform owes us, - we owe it.
-- settled_currency: The currency of the payout; the same unless the statement converts the row.
-- exchange_rate DECIMAL(38,8) null not additive: By which the row is converted; null if it is not, or no rate is stated.
-- settled_amount: The amount that the line adds to the payout: amount or, of a row that is converted, the whole row's amount in settled_currency on its first line and 0 on the others.
select
    lines.entry_no, lines.source_row, lines.component, lines.settlement_no,
    coalesce(pairs.match_id, 'line:' || lines.entry_no || '/' || lines.settlement_no) as match_id,
    settlements.platform, lines.statement_ref, lines.payout_ref, settlements.statement_kind, lines.store_ref,
    settlements.store_id, lines.order_ref, settlements.order_id,
    coalesce(cast(make_timestamp(epoch_us(lines.line_at) + offsets.offset_us) as date), lines.line_date) as line_date,
    settlements.period_from, settlements.period_to, settlements.stated_order_count, lines.currency,
    lines.amount, lines.settled_currency, lines.exchange_rate, lines.settled_amount,
from raw.settlement_lines as lines
inner join workings.settlement_rows as settlements using (entry_no, settlement_no)
left join (
    select distinct entry_no, settlement_no, match_id from workings.settlement_pairs
) as pairs using (entry_no, settlement_no)
left join core.stores as stores on settlements.store_id = stores.store_id
-- each event has its own day; a time with a zone is on the store's
asof left join raw.zone_offsets as offsets
    on stores.timezone = offsets.timezone and epoch_us(lines.line_at) >= offsets.from_us
