"""Print a reconciliation in a few lines: what adds up by day, what does not, and where to look next.

Works in 80 columns, without colours. Knows nothing of tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.report.text import COLUMNS, counted, money, plain, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipelines.finance.reconciliation import Reconciliation

_DAYS = 31  # a terminal's worth; all are in the workbook
_RULES = 12  # populations of most orders; all are in audit.formula_populations
_PARTS = {
    "subtotal": ("subtotal_price", 1),
    "delivery": ("delivery_price", 1),
    "tip": ("tip", 1),
    "discount": ("discount", -1),
    "loyalty discount": ("loyalty_discount", -1),
    "total": ("total_price", 1),
}


def reconciliation_lines(reconciled: Reconciliation) -> Iterator[str]:
    """Give the lines of a reconciliation, each at most 80 columns wide."""
    days: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for day in reconciled.days():
        days.setdefault((day["currency"], day["sale_class"]), []).append(day)
    yield from wrapped(f"Reconciliation: {reconciled.selection.said}", 0)
    yield f"  release {reconciled.manifest.id}"
    lines = reconciled.lines()
    if not lines:
        yield "There is no order there."
    for line in lines:
        yield ""
        yield from _line(line, days[line["currency"], line["sale_class"]])
    yield ""
    yield from _rules(reconciled)
    yield from _verdict(reconciled)


def _line(line: Mapping[str, Any], days: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    currency = plain(line["currency"]) if line["currency"] else "no stated currency"
    yield f"{line['sale_class'].capitalize()}, {currency}: {counted(line['order_count'], 'order', 'orders')}"
    parts = ", ".join(f"{name} {_sum(line[part])}" for name, (part, _) in _PARTS.items())
    yield from wrapped(f"as sent: {parts}")
    yield from wrapped(
        f"lines amount to {_sum(line['line_amount'])}, not on any line {_sum(line['unallocated_amount'])}"
    )
    yield from wrapped(
        f"{line['balanced_count']:,} balanced, "
        f"{line['break_count']:,} off ({line['total_break_count']:,} in the total, "
        f"{line['subtotal_break_count']:,} in the lines, {line['both_break_count']:,} in both), "
        f"{line['indeterminate_count']:,} cannot be told"
    )
    yield f"  {'day':10} {'orders':>7} {'total':>15} {'lines':>15} {'unallocated':>12} {'breaks':>6} {'open':>5}"
    hidden = len(days) - _DAYS
    if hidden > 0:
        yield f"  … {hidden:,} earlier days: narrow by --from and --to, or take --xlsx"
    for day in days[-_DAYS:]:
        yield from _day(day)


def _day(day: Mapping[str, Any]) -> Iterator[str]:
    date, counts = str(day["business_date"] or "no day"), f"{day['break_count']:>6,} {day['unposted_count']:>5,}"
    total, lines, rest = (_sum(day[name]) for name in ("total_price", "line_amount", "unallocated_amount"))
    row = f"  {date:10} {day['order_count']:>7,} {total:>15} {lines:>15} {rest:>12} {counts}"
    if len(row) <= COLUMNS:
        yield row
    else:
        yield f"  {date:10} {day['order_count']:>7,} {counts:>{len(counts) + 45}}"
        yield from wrapped(f"total {total}, lines {lines}, unallocated {rest}", 13)
    residuals = [
        f"{name} {_sum(residual)}" + (f" (each without its sign {_sum(size)})" if abs(residual) != size else "")
        for name, part in (("totals", "total"), ("lines", "subtotal"))
        if (size := day[f"{part}_residual_size"]) and (residual := day[f"{part}_residual"]) is not None
    ]
    if residuals:
        yield from wrapped(f"residuals: {', '.join(residuals)}", 13)


def _rules(reconciled: Reconciliation) -> Iterator[str]:
    """Give what orders show of the rules, a sentence for each population."""
    populations = reconciled.populations()
    if populations:
        yield "Rules, as all orders show them"
    for scope, sentence in populations[:_RULES]:
        yield from wrapped(f"{scope}: {sentence}")
    if len(populations) > _RULES:
        yield f"  … {len(populations) - _RULES:,} more in audit.formula_populations"
    yield ""


def _verdict(reconciled: Reconciliation) -> Iterator[str]:
    left_out = reconciled.undated_order_count()
    if left_out:
        yield from wrapped(f"Orders in no span of days, as their business day is not known: {left_out:,}.", 0)
    suspected = reconciled.possible_duplicates()
    if suspected:
        yield from wrapped(f"Orders that may repeat another: {suspected:,}, see audit.possible_duplicate_orders.", 0)
    yield from wrapped(f"{reconciled.verdict()}.", 0)
    worst = reconciled.largest_breaks()
    if worst:
        ids = ", ".join(map(str, worst))
        yield from wrapped(f"Off by most: {ids}. Look next: `ordermart explain order {worst[0]}`.", 0)


def _sum(amount: Any) -> str:
    return "none" if amount is None else money(amount)
