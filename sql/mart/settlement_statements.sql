-- One row per effective statement and currency: what its lines add up to, and which of it is matched.
--
-- Source: the ledger (`ordermart settlements import`) and workings.settlement_pairs.
-- Caveats: a file without statement references is one statement. Gross, refunds and costs add up to net_amount; opening,
-- net_amount and rounding to paid and closing, where a statement states them.
--
-- key: entry_no, statement_ref, currency
--
-- platform not null: The platform, as the mapping names it.
-- payout_ref: The payout, if its lines have one only.
-- file VARCHAR: The name of the file.
-- file_sha256 VARCHAR: The hash of the file.
-- first_line_date DATE: The first day of its lines; of periods their first day.
-- last_line_date: The last day of its lines.
-- payout_count BIGINT >= 0: The payouts that its lines name.
-- line_count: Its lines in this currency.
-- unmatched_count BIGINT >= 0: Orders and totals on it that settle no order of ours for certain: see match_state of mart.settlement_matches.
-- currency not null: The currency of its amounts.
-- net_amount: The sum of its lines.
-- opening_amount DECIMAL(38,4) null: What it starts from, as stated; null if it is not, here and below.
-- paid_amount DECIMAL(38,4) null: What it pays.
-- closing_amount DECIMAL(38,4) null: What it leaves for the next one.
-- rounding_amount DECIMAL(38,4) null: What it pays and leaves less what it starts from and its lines: a break if it is not 0.
-- gap_amount DECIMAL(38,4) null: opening_amount less the closing_amount of the one before, of the platform, stores and currency: a break if it is not 0.
with lines as (
    select
        entry_no, statement_ref, currency,
        list_sort(list(distinct coalesce(store_ref, ''))) as store_refs,
        if(count(distinct payout_ref) = 1, any_value(payout_ref), null) as payout_ref,
        count(distinct payout_ref) as payout_count,
        count(*) as line_count, sum(amount) as net_amount, any_value(opening) as opening_amount,
        any_value(paid) as paid_amount, any_value(closing) as closing_amount,
    from raw.settlement_lines group by entry_no, statement_ref, currency
),
settled as (
    select
        rows_of.entry_no, rows_of.statement_ref, rows_of.currency,
        min(coalesce(rows_of.period_from, rows_of.line_date)) as first_line_date,
        max(rows_of.last_line_date) as last_line_date, sum(rows_of.gross_amount) as gross_amount,
        sum(rows_of.refund_amount) as refund_amount, sum(rows_of.cost_amount) as cost_amount,
        count(*) filter (
            where rows_of.statement_kind in ('order', 'total', 'addition')
            and coalesce(pairs.match_state not in ('matched', 'group'), true)
        ) as unmatched_count,
    from workings.settlement_rows as rows_of
    left join (
        select distinct entry_no, settlement_no, match_state from workings.settlement_pairs
    ) as pairs using (entry_no, settlement_no)
    group by rows_of.entry_no, rows_of.statement_ref, rows_of.currency
)

select
    controls.entry_no, controls.platform, controls.statement_ref, lines.payout_ref, controls.file,
    controls.file_sha256, controls.imported_at, settled.first_line_date, settled.last_line_date,
    lines.payout_count, lines.line_count, settled.unmatched_count, controls.currency, settled.gross_amount,
    settled.refund_amount, settled.cost_amount, lines.net_amount, lines.opening_amount, lines.paid_amount,
    lines.closing_amount,
    lines.paid_amount + coalesce(lines.closing_amount, 0) - coalesce(lines.opening_amount, 0)
    - lines.net_amount as rounding_amount,
    lines.opening_amount - lag(lines.closing_amount) over (
        partition by controls.platform, controls.currency, lines.store_refs
        order by settled.first_line_date, settled.last_line_date, controls.statement_ref
    ) as gap_amount,
from raw.settlement_statements as controls
inner join lines
    on controls.entry_no = lines.entry_no
    and controls.statement_ref is not distinct from lines.statement_ref
    and controls.currency = lines.currency
inner join settled
    on controls.entry_no = settled.entry_no
    and controls.statement_ref is not distinct from settled.statement_ref
    and controls.currency = settled.currency
