-- One row per effective statement and currency: what its lines add up to, and which of it is matched.
--
-- Source: the ledger (`ordermart settlements import`) and mart.settlement_matches.
-- Caveats: a file without statement references is one statement. gross, refunds and costs add up to amount.
--
-- key: entry_no, statement_ref, currency
--
-- platform not null: The platform, as the mapping names it.
-- file VARCHAR: The name of the file.
-- file_sha256 VARCHAR: The hash of the file.
-- first_line_date DATE: The first day of its lines; of periods their first day.
-- last_line_date: The last day of its lines.
-- line_count: Its lines in this currency.
-- unmatched_count BIGINT >= 0: Orders and totals on it that settle no order of ours for certain: see match_state of mart.settlement_matches.
-- currency not null: The currency of its amounts.
-- net_amount: The sum of its lines.
with controls as (
    from raw.settlement_statements
),

lines as (
    select
        entry_no, statement_ref, currency,
        min(coalesce(period_from, line_date)) as first_line_date,
        max(line_date) as last_line_date,
        count(*) as line_count,
        sum(amount) as net_amount,
    from mart.settlement_lines
    group by entry_no, statement_ref, currency
),

settled as (
    select
        rows_of.entry_no, rows_of.statement_ref, rows_of.currency,
        sum(rows_of.gross_amount) as gross_amount,
        sum(rows_of.refund_amount) as refund_amount,
        sum(rows_of.cost_amount) as cost_amount,
        count(*) filter (
            where rows_of.statement_kind in ('order', 'total')
            and coalesce(pairs.match_state not in ('matched', 'group'), true)
        ) as unmatched_count,
    from audit.settlement_rows as rows_of
    left join (
        select distinct entry_no, settlement_no, match_state from audit.settlement_pairs
    ) as pairs using (entry_no, settlement_no)
    group by rows_of.entry_no, rows_of.statement_ref, rows_of.currency
)

select
    controls.entry_no,
    controls.platform,
    controls.statement_ref,
    controls.file,
    controls.file_sha256,
    controls.imported_at,
    -- when
    lines.first_line_date,
    lines.last_line_date,
    -- counts
    lines.line_count,
    settled.unmatched_count,
    -- money
    controls.currency,
    settled.gross_amount,
    settled.refund_amount,
    settled.cost_amount,
    lines.net_amount,
from controls
inner join lines
    on controls.entry_no = lines.entry_no
    and controls.statement_ref is not distinct from lines.statement_ref
    and controls.currency = lines.currency
inner join settled
    on controls.entry_no = settled.entry_no
    and controls.statement_ref is not distinct from settled.statement_ref
    and controls.currency = settled.currency
