"""Show what finance commands found: closes, restatements, breaks with what was decided of them, journals, balances.

Amounts are exact. A reconciliation is shown in 80 columns for a terminal, as one HTML page, and as a verdict in a
sentence. The page has the morning page's sections about it, of chosen orders: breaks first, the largest first, tables
cut with a note.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.finance.reconciliation import Reconciliation, describe_total
from pipelines.finance.released import NOT_STATED, BookPeriod, FinanceError, measure_text, money, money_of
from pipelines.landing.shape import CHARGES, TOTAL
from pipelines.ledger import IntactChain, LedgerEntry
from pipelines.literals import one_line as plain
from pipelines.record import Verdict
from pipelines.report.identities import beyond_parts, bridge
from pipelines.report.text import COLUMNS, counted, fitted, moment, wrapped

if TYPE_CHECKING:
    from pipelines.finance.closing import Closed, Posting, Reopened, Totals
    from pipelines.finance.exporting import JournalExport
    from pipelines.report.audit_pack import Pack


_SHOWN = 50
_BREAKS_SHOWN = 100
_DAYS = 31  # the workbook has all
_TOTALS = 20  # control totals that differ; audit.control_totals has all
_RULES = 12  # populations with the most orders; audit.formula_populations has all
_PRICE_FIELDS = {**{charge.label: charge.name for charge in CHARGES}, "total": TOTAL}
MOST_ROWS = 60  # of a table; the workbook has all


def blockers(period: BookPeriod, judged: Verdict) -> Iterator[str]:
    """Yield the blockers for closing a period, a line each, or that there is none."""
    if judged.is_good:
        yield f"No blockers for closing {span(period)}: looked at {judged.counts()}."
    else:
        yield f"Blockers for closing {span(period)}:"
        yield from _listed(judged.against)


def verified(done: IntactChain) -> Iterator[str]:
    """Yield the number of entries, the times that cannot be right, and the head."""
    yield f"The chain of the ledger is intact: {done.entries:,} entries."
    if done.time_doubts:
        yield "Times that cannot be right (the clock was wrong; the entries hold):"
        yield from _listed(done.time_doubts)
    yield f"Head (keep a copy elsewhere): {done.head}"


def reopened(done: "Reopened") -> Iterator[str]:
    """Yield which day was reopened, and what was reversed."""
    body = done.entry.body
    store = "" if body["store_id"] is None else f" of store {body['store_id']}"
    yield f"Reopened {body['day']}{store} as ledger entry {done.entry.no}."
    for each in done.reversals:
        again = " Closed again, the day contains them." if each is done.reversals[-1] else ""
        count = counted(each.restatement_count, "posted restatement", "posted restatements")
        closed = "" if each.period == each.posted_period else f" ({each.posted_period}, which holds them, is closed)"
        yield f"Reversed in {each.period}{closed}: {count} of this day, {_sums(each.amounts)}.{again}"
    yield _head(done.entry)


def posted(done: "Posting") -> str:
    """Return what was posted."""
    if not done.restatement_count:
        return "No unposted restatements: nothing was posted."
    return f"Posted {done.restatement_count:,} restatements to {done.period}: {_sums(done.amounts)}."


def packed(pack: "Pack") -> Iterator[str]:
    """Yield what an audit pack contains, and how to verify it."""
    yield f"Wrote {pack.path}: {pack.files} files, {pack.receipts} receipts."
    yield f"Head of the ledger: {pack.head}"
    yield f"Hash of SHA256SUMS: {pack.sums}"
    yield "Keep copies of both elsewhere. To verify the pack: python3 -I verify.py --head HASH --sums HASH"


def span(period: BookPeriod) -> str:
    """Return the name and days of a period."""
    days = f"{period.first_day}"
    if period.last_day != period.first_day:
        days += f" to {period.last_day}"
    return f"{period.name} ({days})" if period.name else days


def _sums(amounts: Sequence[tuple[str, Decimal]]) -> str:
    sums = "; ".join(f"total_price {money_of(total, currency, is_signed=True)}" for currency, total in amounts)
    return sums or "no change of total_price"


def closed(period: BookPeriod, done: "Closed") -> Iterator[str]:
    """Yield the result of a close: totals and exceptions, or its blockers."""
    if done.entry is None:
        yield f"NOT CLOSED: {span(period)}. Blockers:"
        yield from _listed(done.blockers)
        if done.is_prepared:
            yield 'Fix these, or accept them and prepare it again: `ordermart close … --with-exceptions "REASON"`.'
        elif len(done.lacking) > 1:
            kinds = " ".join(f'--with-exceptions "{kind}=REASON"' for kind in done.lacking)
            yield f"Fix these, or accept each kind for a reason of its own: {kinds}."
        else:
            yield 'Fix these, or accept them: --with-exceptions "REASON".'
        return
    release, act = done.entry.body["release"], "Prepared" if done.is_prepared else "Closed"
    orders = counted(done.order_count, "order", "orders")
    yield f"{act} {span(period)} as ledger entry {done.entry.no}: {orders} of release {release}."
    yield from _totals(done.totals)
    if done.already_closed:
        yield f"  Already closed: {', '.join(map(str, done.already_closed))}."
    if done.period_totals:
        yield f"All closed orders of {span(period)}: {sum(count for _, count, _, _ in done.period_totals):,}."
        yield from _totals(done.period_totals)
    if done.blockers:
        yield f"With exceptions ({done.entry.body['exceptions']['reason']}):"
        yield from _listed(done.blockers)
    if done.is_prepared:
        yield "NOT CLOSED yet: another system user must run `ordermart close approve`."
    yield _head(done.entry)


def _totals(totals: "Totals") -> Iterator[str]:
    for sale_class, order_count, currency, total in totals:
        yield f"  {sale_class:9} {order_count:8,} orders   total_price {money_of(total, currency)}"


def _listed(sentences: Sequence[str]) -> Iterator[str]:
    yield from (f"  - {sentence}" for sentence in sentences)


def _head(entry: LedgerEntry) -> str:
    return f"Head of the ledger (keep a copy elsewhere): {entry.sha256}"


def restatements(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield restatements as lines: booked and current amount, and cause."""
    if not rows:
        yield "No unposted restatements."
        return
    heads = f"{'no':>6}  {'order':>12}  {'closed day':10}  {'class':9} {'measure':16}"
    yield f"{heads} {'booked':>14} {'current':>14} {'restatement':>14}  cause"
    for row in rows[:_SHOWN]:
        shown = partial(measure_text, row["measure"], currency=row["currency"])
        state = "" if row["is_close_active"] else "  (day reopened)"
        state += f"  (posted to {row['posted_period']})" if row["posted_period"] else ""
        state += f"  (reversed in {row['reversed_period']})" if row["reversed_period"] else ""
        yield (
            f"{row['restatement_no']:>6}  {row['order_id']:>12}  {row['business_date']}  {row['sale_class']:9} "
            f"{row['measure']:16} "
            f"{shown(row['closed_amount'] + row['prior_restated_amount']):>14} "
            f"{shown(row['current_amount']):>14} "
            f"{shown(row['restatement_amount'], is_signed=True):>14}  {row['cause']}{state}"
        )
    if len(rows) > _SHOWN:
        yield f"… and {len(rows) - _SHOWN:,} more: see mart.restatements."
    sums: dict[tuple[str, str, str], Decimal] = {}
    for row in rows:
        if row["measure"] == "total_price":
            key = (row["cause"], row["sale_class"], row["currency"] or "")
            sums[key] = sums.get(key, 0) + row["restatement_amount"]
    yield "Total of total_price by cause and sale class:"
    for (cause, sale_class, currency), total in sorted(sums.items()):
        yield f"  {cause:20} {sale_class:9} {money_of(total, currency, is_signed=True):>18}"


def break_lines(rows: Sequence[Mapping[str, Any]], *, everything: bool = False) -> Iterator[str]:
    """Yield a line for each break that is open, or for each, and below it what was decided of it."""
    accepted = sum(row["state"] == "accepted" for row in rows)
    if listed := [row for row in rows if everything or row["state"] != "accepted"]:
        yield f"{'order':>12}  {'day':10}  {'store':>8}  {'residual':>20}  state"
    for row in listed[:_BREAKS_SHOWN]:
        yield from _break(row)
    if len(listed) > _BREAKS_SHOWN:
        yield f"… and {len(listed) - _BREAKS_SHOWN:,} more: limit them with --from, --to and --store."
    yield f"{counted(len(rows) - accepted, 'open break', 'open breaks')}, {accepted:,} accepted."


_ACCEPTED = {"subtotal residuals": "subtotal_residual", "total residuals": "total_residual", "settlements": "amount"}


def accepted_breaks(entry: LedgerEntry) -> Iterator[str]:
    """Yield what was accepted: how many breaks, and their residuals by currency."""
    breaks = entry.body["breaks"]
    yield f"Accepted {counted(len(breaks), 'break', 'breaks')} as ledger entry {entry.no}."
    sums: dict[tuple[str, str], Decimal] = {}
    for row in breaks:
        for name, column in _ACCEPTED.items():
            key = row["currency"] or "", name
            sums[key] = sums.get(key, Decimal(0)) + Decimal(row.get(column) or 0)
    for (currency, name), residual in sorted(sums.items()):
        if residual:
            yield f"  {name} {money_of(residual, currency, is_signed=True)}"


def _break(row: Mapping[str, Any]) -> Iterator[str]:
    day, store = row["business_date"] or "no day", "none" if row["store_id"] is None else row["store_id"]
    state = "changed since it was accepted" if row["state"] == "changed" else row["state"]
    residuals = [name for name in ("total", "subtotal") if row[f"{name}_residual"]]
    first, *others = residuals
    yield (
        f"{row['order_id']:>12}  {day!s:10}  {store:>8}  "
        f"{money_of(row[f'{first}_residual'], row['currency'], is_signed=True):>20}  {state}"
    )
    for name in others:
        residual = money_of(row[f"{name}_residual"], row["currency"], is_signed=True)
        yield f"{'':36}{residual:>20}  {name}"
    for name in residuals:
        if row[f"{name}_likely_cause"]:
            yield from wrapped(f"likely cause, {name}: {row[f'{name}_likely_cause']}", 14)
    yield from decided_lines(row)


def decided_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was decided of a break, if anything was."""
    if (decided := row["decisions"]) is None:
        return
    if decided.accepted:
        yield from wrapped(f"accepted by {_who(decided.accepted)}: {plain(decided.accepted.body['reason'])}", 14)
    if decided.assignee:
        yield from wrapped(f"assigned to {plain(decided.assignee)}", 14)
    for comment in decided.comments:
        yield from wrapped(f"{_who(comment)}: {plain(comment.body['comment'])}", 14)


def _who(entry: LedgerEntry) -> str:
    name = f"{plain(entry.body['as'])} ({plain(entry.who)})" if entry.body["as"] else plain(entry.who)
    return f"{name}, {moment(entry.moment)}"


def journal_lines(done: "JournalExport") -> Iterator[str]:
    """Yield the entries of a period's journal by class; then its stops, differences, open days and files."""
    made = done.journal
    yield f"{made.period.name}: {counted(len(made.entries), 'entry', 'entries')}"
    sums: dict[tuple[str, str], Decimal] = {}
    for each in made.entries:
        for line in each.lines:
            key = each.currency, line.account_class
            sums[key] = sums.get(key, Decimal(0)) + line.amount
    yield from (f"  {part:24} {money_of(amount, currency):>18}" for (currency, part), amount in sorted(sums.items()))
    for (currency, part), amount in sorted(made.outside.items(), key=str):
        if amount:
            yield f"  not in totals: {part} {money_of(amount, currency)}"
    stops = sorted(made.stops.values(), key=lambda stop: (stop.day, stop.store_id or 0))
    for stop in stops[:_SHOWN]:
        order = f", order {stop.order_id}" if stop.order_id else ""
        store = "none" if stop.store_id is None else stop.store_id
        held = "".join(f"; {money_of(total, of[1])}" for of, total in made.totals.items() if of[0] == stop[:2])
        yield f"  STOPPED {stop.day} store {store}{order}: {plain(stop.reason)}{held}"
        accept = f"`ordermart breaks accept {stop.order_id} --reason TEXT --account-class CLASS`"
        settle = accept if "break" in stop.reason else "correct the order or the map"
        yield f"    {settle}, or export `--without {stop.day}:{store}`"
    if len(stops) > _SHOWN:
        yield f"  … and {len(stops) - _SHOWN:,} more store-days."
    for code in sorted({code for _, code in made.totals}, key=str) if stops else ():
        of_code = {of[0]: total for of, total in made.totals.items() if of[1] == code}
        whole = sum(of_code.values(), Decimal(0))
        stopped = sum((total for place, total in of_code.items() if place in made.stops), Decimal(0))
        text = f"{money_of(whole, code)}, without {money_of(whole - stopped, code)}"
        yield f"  total_price with stopped store-days {text}"
    yield from (f"  DIFFERENT {plain(each, 1000)}" for each in made.differences)
    yield from _exported(done)


def _exported(done: "JournalExport") -> Iterator[str]:
    if done.journal.open_days:
        yield f"  not closed: {counted(len(done.journal.open_days), 'store-day', 'store-days')}"
    yield from (f"Wrote {file}" for file in done.files)
    if done.entry_no:
        yield f"Exported {counted(done.new_count, 'entry', 'entries')}, recorded as ledger entry {done.entry_no}."
    elif done.files:
        yield "No ledger entry was written: nothing is new, or it is a draft."
    elif done.is_stopped:
        yield "Settle the breaks, complete the map, or leave store-days out: `--without DAY:STORE`."
    elif done.is_export:
        yield "Nothing to write."


def reconciliation_lines(reconciled: Reconciliation) -> Iterator[str]:
    """Yield the lines of a reconciliation, each at most 80 columns wide."""
    days: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for day in reconciled.days():
        days.setdefault((day["currency"], day["sale_class"]), []).append(day)
    yield from wrapped(f"Reconciliation: {reconciled.selection.description}", 0)
    yield f"  release {reconciled.manifest.id}"
    if not (lines := {(line["currency"], line["sale_class"]): line for line in reconciled.lines()}):
        yield "No orders."
    for key, own in days.items():
        yield ""
        yield from _line(lines.get(key, own[0]), own)  # without orders, its days are as empty as it is
        if key in lines:
            yield from _bridge(reconciled, lines[key])
    yield ""
    yield from _rules(reconciled)
    yield from _verdict(reconciled)


def _line(line: Mapping[str, Any], days: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    currency = plain(line["currency"]) if line["currency"] else "currency not stated"
    yield f"{line['sale_class'].capitalize()}, {currency}: {counted(line['order_count'], 'order', 'orders')}"
    amounts = ", ".join(f"{name} {_sum(line, field)}" for name, field in _PRICE_FIELDS.items())
    yield from wrapped(f"as sent: {amounts}")
    yield from wrapped(f"lines {_sum(line, 'line_amount')}, unallocated {_sum(line, 'unallocated_amount')}")
    yield from wrapped(
        f"{line['balanced_count']:,} balanced, {counted(line['break_count'], 'break', 'breaks')} "
        f"({line['total_break_count']:,} total, {line['subtotal_break_count']:,} subtotal, "
        f"{line['both_break_count']:,} both), {line['indeterminate_count']:,} indeterminate"
    )
    yield f"  {'day':10} {'orders':>7} {'total':>15} {'lines':>15} {'unallocated':>11} {'breaks':>6} {'unposted':>8}"
    if (hidden := len(days) - _DAYS) > 0:
        yield f"  … {hidden:,} earlier days: use --from and --to, or --xlsx for all"
    for day in days[-_DAYS:]:
        yield from _day(day)


def _bridge(reconciled: Reconciliation, line: Mapping[str, Any]) -> Iterator[str]:
    """Yield the way from lines to the total, of which each step is a line."""
    to_subtotal, to_total = bridge(reconciled, line)
    yield "  from lines to totals"
    for name, amount in {"lines": line["line_amount"], **to_subtotal}.items():
        yield _step(line, name, amount, is_signed=name != "lines")
    for name, amount in {"subtotal": line["subtotal_price"], **to_total}.items():
        yield _step(line, name, amount, is_signed=name != "subtotal")
    yield _step(line, "total", line["total_price"])
    yield from wrapped(beyond_parts(line), 4)


def _step(line: Mapping[str, Any], name: str, amount: Decimal | None, *, is_signed: bool = False) -> str:
    text = "none" if amount is None else money(amount, line["currency"], is_signed=is_signed)
    return f"    {fitted(plain(name), 36)} {text:>24}"


def _day(day: Mapping[str, Any]) -> Iterator[str]:
    date, counts = str(day["business_date"] or "no day"), f"{day['break_count']:>6,} {day['unposted_count']:>8,}"
    total, lines, rest = (_sum(day, name) for name in ("total_price", "line_amount", "unallocated_amount"))
    row = f"  {date:10} {day['order_count']:>7,} {total:>15} {lines:>15} {rest:>11} {counts}"
    if len(row) <= COLUMNS:
        yield row
    else:
        yield f"  {date:10} {day['order_count']:>7,} {counts:>{len(counts) + 44}}"
        yield from wrapped(f"total {total}, lines {lines}, unallocated {rest}", 13)
    residuals = [
        f"{name} {_sum(day, f'{name}_residual')}"
        + (f" (absolute {_sum(day, f'{name}_abs_residual')})" if abs(residual) != size else "")
        for name in ("total", "subtotal")
        if (size := day[f"{name}_abs_residual"]) and (residual := day[f"{name}_residual"]) is not None
    ]
    if residuals:
        yield from wrapped(f"residuals: {', '.join(residuals)}", 13)


def _rules(reconciled: Reconciliation) -> Iterator[str]:
    """Yield what orders show of the rules, a sentence for each population."""
    if populations := reconciled.populations():
        yield "Rules, as all orders show them"
    for scope, sentence, settlement in populations[:_RULES]:
        more = "; `ordermart questions` has settings for it" if settlement else ""
        yield from wrapped(f"{scope}: {sentence}{more}")
    if len(populations) > _RULES:
        yield f"  … {len(populations) - _RULES:,} more in audit.formula_populations"
    yield ""


def _verdict(reconciled: Reconciliation) -> Iterator[str]:
    if note := undated(reconciled):
        yield from wrapped(note, 0)
    if suspected := reconciled.count("audit.possible_duplicate_orders"):
        yield from wrapped(f"Possible duplicate orders: {suspected:,}, see audit.possible_duplicate_orders.", 0)
    for each in reconciled.unposted_restatements():
        amount = measure_text(each["measure"], each["restatement_amount"], each["currency"], is_signed=True)
        count = counted(each["restatement_count"], "restatement", "restatements")
        of = f"{each['sale_class']}, {plain(each['currency'] or NOT_STATED)}"
        yield from wrapped(f"Unposted, {of}: {each['measure']} {amount} in {count}", 0)
    if totals := reconciled.control_total_variances():
        yield "Control totals that differ"
    for total in totals[:_TOTALS]:
        yield from wrapped(describe_total(total))
    if len(totals) > _TOTALS:
        yield f"  … {len(totals) - _TOTALS:,} more in audit.control_totals"
    yield from wrapped(f"{verdict(reconciled)}.", 0)
    if largest := reconciled.largest_breaks():
        ids = "; ".join(f"{plain(currency or 'no currency')}: {', '.join(map(str, ids))}" for currency, ids in largest)
        yield from wrapped(f"Largest breaks, {ids}. See `ordermart explain order {largest[0][1][0]}`.", 0)


def _sum(row: Mapping[str, Any], field: str) -> str:
    return "none" if row[field] is None else money(row[field], row["currency"])


def verdict(reconciled: Reconciliation) -> str:
    """Return the outcome, without a full stop: indeterminate orders are not balanced, accepted breaks are."""
    judged = reconciled.assess()
    if not judged.checked["orders"] and not judged.wrong:
        return f"Nothing to reconcile: {judged.unchecked[0]}"
    outcome = "Balanced: no variances" if judged.is_good else f"Not balanced: {', '.join(judged.against)}"
    accepted = reconciled.count("breaks") - reconciled.count("open_breaks")
    return f"{outcome}; {counted(accepted, 'accepted break', 'accepted breaks')}" if accepted else outcome


def undated(reconciled: Reconciliation) -> str:
    """Return a note about orders that no span of days can include, '' if there are none."""
    number = reconciled.undated_order_count()
    return f"Not included: {counted(number, 'order', 'orders')} without a known business day." if number else ""


def write_page(reconciled: Reconciliation, path: Path) -> None:
    """Write the page to `path` atomically; raise ReportFileError."""
    with draft_of(path) as draft:
        draft.write_text(page_text(reconciled), encoding="utf-8")


def page_text(reconciled: Reconciliation, most_rows: int = MOST_ROWS) -> str:
    """Return the page; tables are cut at `most_rows` rows, with a note on where all are."""
    from pipelines.report.page import render  # noqa: PLC0415 -- slow: only a page needs it
    from pipelines.report.page.morning import reconciled_facts, urgent_days  # noqa: PLC0415 -- the same

    return render(
        "reconciliation.html",
        selected=reconciled.selection.description,
        is_balanced=reconciled.assess().is_good,
        verdict=verdict(reconciled),
        undated=undated(reconciled),
        manifest=reconciled.manifest,
        days=urgent_days(reconciled),
        most=most_rows,
        **reconciled_facts(reconciled, most_rows, most_rows),
    )


class ReportFileError(FinanceError):
    """The file cannot be written; the message says why."""


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Give the path of a draft that becomes `path` unless the block fails; raise ReportFileError for OSError."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise ReportFileError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
