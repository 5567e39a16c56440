"""Show a reconciliation: in 80 columns for a terminal, as one HTML page, and its verdict in a sentence.

The page has the morning page's sections about it, of chosen orders: breaks first, the largest first, tables cut with a
note.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipelines.finance.reconciliation import describe_total
from pipelines.finance.released import FinanceError, money
from pipelines.landing.charges import CHARGES, TOTAL
from pipelines.literals import one_line as plain
from pipelines.report.page.facts import reconciled_facts, urgent_days
from pipelines.report.page.template import render
from pipelines.report.text import COLUMNS, counted, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.finance.reconciliation import Reconciliation


_DAYS = 31  # the workbook has all
_TOTALS = 20  # control totals that differ; audit.control_totals has all
_RULES = 12  # populations with the most orders; audit.formula_populations has all
_PRICE_FIELDS = {**{charge.label: charge.name for charge in CHARGES}, "total": TOTAL}
MOST_ROWS = 60  # of a table; the workbook has all


def reconciliation_lines(reconciled: Reconciliation) -> Iterator[str]:
    """Yield the lines of a reconciliation, each at most 80 columns wide."""
    days: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for day in reconciled.days():
        days.setdefault((day["currency"], day["sale_class"]), []).append(day)
    yield from wrapped(f"Reconciliation: {reconciled.selection.description}", 0)
    yield f"  release {reconciled.manifest.id}"
    lines = {(line["currency"], line["sale_class"]): line for line in reconciled.lines()}
    if not lines:
        yield "No orders."
    for key, own in days.items():
        yield ""
        yield from _line(lines.get(key, own[0]), own)  # without orders, its days are as empty as it is
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
    hidden = len(days) - _DAYS
    if hidden > 0:
        yield f"  … {hidden:,} earlier days: use --from and --to, or --xlsx for all"
    for day in days[-_DAYS:]:
        yield from _day(day)


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
    populations = reconciled.populations()
    if populations:
        yield "Rules, as all orders show them"
    for scope, sentence in populations[:_RULES]:
        yield from wrapped(f"{scope}: {sentence}")
    if len(populations) > _RULES:
        yield f"  … {len(populations) - _RULES:,} more in audit.formula_populations"
    yield ""


def _verdict(reconciled: Reconciliation) -> Iterator[str]:
    if note := undated(reconciled):
        yield from wrapped(note, 0)
    suspected = reconciled.possible_duplicates()
    if suspected:
        yield from wrapped(f"Possible duplicate orders: {suspected:,}, see audit.possible_duplicate_orders.", 0)
    if totals := reconciled.control_total_variances():
        yield "Control totals that differ"
    for total in totals[:_TOTALS]:
        yield from wrapped(describe_total(total))
    if len(totals) > _TOTALS:
        yield f"  … {len(totals) - _TOTALS:,} more in audit.control_totals"
    yield from wrapped(f"{verdict(reconciled)}.", 0)
    largest = reconciled.largest_breaks()
    if largest:
        ids = "; ".join(f"{plain(currency or 'no currency')}: {', '.join(map(str, ids))}" for currency, ids in largest)
        yield from wrapped(f"Largest breaks, {ids}. See `ordermart explain order {largest[0][1][0]}`.", 0)


def _sum(row: Mapping[str, Any], field: str) -> str:
    return "none" if row[field] is None else money(row[field], row["currency"])


def verdict(reconciled: Reconciliation) -> str:
    """Return the outcome, without a full stop; indeterminate orders are not balanced, accepted breaks are.

    Without an order nothing is balanced.
    """
    judged = reconciled.judged()
    if not judged.checked["orders"] and not judged.wrong:
        return f"Nothing to reconcile: {judged.unchecked[0]}"
    outcome = "Balanced: no variances" if judged.is_good else f"Not balanced: {', '.join(judged.against)}"
    accepted = reconciled.accepted_break_count()
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
    return render(
        "reconciliation.html",
        selected=reconciled.selection.description,
        is_balanced=reconciled.judged().is_good,
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
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise ReportFileError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
