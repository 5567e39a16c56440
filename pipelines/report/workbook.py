"""Write a reconciliation as a workbook: totals are live formulas over the rows, with their values stored too.

The summary spans all sheets of a listing that was split. Amounts that a spreadsheet's doubles cannot hold in full stand
as text too. Knows no terminal.
"""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from xlsxwriter.utility import xl_col_to_name

from pipelines.report.listings import MEASURES, Column, Listing, listings
from pipelines.report.sheets import (
    BEYOND,
    EXACT,
    ROWS_A_SHEET,
    Book,
    Page,
    Sheet,
    WorkbookError,
    count_where,
    is_long,
    shown,
    sum_where,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pipelines.finance.reconciliation import Reconciliation, Record

    Progress = Callable[[str, int, int], None]

_ABOVE = 4  # rows of a listing's sheet above its first one: what it says, a blank, totals, names
_ROUNDS = "ROUND({},2)"


def write_workbook(
    reconciled: Reconciliation,
    path: Path,
    *,
    all_orders: bool = False,
    rows_a_sheet: int = ROWS_A_SHEET,
    progress: Progress | None = None,
) -> None:
    """Write the workbook to `path`, whole or not at all; raise WorkbookError. `progress` gets (what, done, total)."""
    chosen = listings(reconciled, all_orders=all_orders)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        created = dt.datetime.fromisoformat(reconciled.manifest.published_at)
        with Book(draft, f"Reconciliation, {reconciled.selection.said}", created) as book:
            _write(book, reconciled, chosen, rows_a_sheet, progress)
        draft.replace(path)
    except OSError as error:
        raise WorkbookError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def _write(
    book: Book, reconciled: Reconciliation, chosen: Sequence[Listing], rows_a_sheet: int, progress: Progress | None
) -> None:
    pages = {each.name: _pages(each.name, each.count(reconciled.db), rows_a_sheet) for each in chosen}
    _summary(book.sheet("summary"), reconciled, {each.name: each for each in chosen}, pages)
    is_one_currency = len({line["currency"] for line in reconciled.lines()}) <= 1
    for each in chosen:
        sums = each.sums(reconciled.db) if is_one_currency and pages[each.name] else {}
        _listing(book, reconciled, each, pages[each.name], sums, progress)


def _pages(name: str, rows: int, rows_a_sheet: int) -> list[Page]:
    """Return the sheets of a listing; one without rows has a sheet, and no page to add up."""
    starts = range(0, rows, rows_a_sheet)
    return [
        Page(name if not number else f"{name} {number + 1}", _ABOVE + 1, _ABOVE + min(rows_a_sheet, rows - start))
        for number, start in enumerate(starts)
    ]


def _summary(
    sheet: Sheet, reconciled: Reconciliation, chosen: Mapping[str, Listing], pages: Mapping[str, Sequence[Page]]
) -> None:
    manifest, lines = reconciled.manifest, reconciled.lines()
    sheet.tall(2)
    _said(sheet, f"Reconciliation: {reconciled.selection.said}", "title")
    _said(sheet, f"Release {manifest.id}, published at {manifest.published_at} (UTC)", "note")
    _said(sheet, reconciled.verdict(), "strong")
    left_out = reconciled.undated_order_count()
    if left_out:
        _said(sheet, f"Orders in no span of days, as their business day is not known: {left_out:,}", "note")
    _said(sheet, "Every figure below is a live sum over the rows of the other sheets.", "note")
    _said(sheet, f"Currencies and sale classes are never added. Beyond 15 digits: see {EXACT}.", "note")
    sheet.row += 1
    key = _heads(sheet, lines)
    for column in MEASURES:
        _measure(sheet, lines, column, chosen["days"], pages["days"], key)
    sheet.row += 1
    _said(sheet, "What must be zero", "strong")
    for what, formula, kind in _ties(chosen, pages):
        sheet.text(0, what, "label")
        for number in range(1, len(lines) + 1):
            sheet.formula(number, formula(f"{xl_col_to_name(number)}${key}"), 0, kind)
        sheet.row += 1
    sheet.row += 1
    _open(sheet, reconciled, chosen["restatements"], pages["restatements"])
    sheet.widen((46, *(22 for _ in range(max(len(lines), 4)))))


def _heads(sheet: Sheet, lines: Sequence[Record]) -> int:
    """Write what each line is, a column for each; return the row of their numbers, which rows name."""
    for what in ("sale_class", "currency"):
        sheet.text(0, what.replace("_", " "), "head")
        for number, line in enumerate(lines, 1):
            sheet.text(number, line[what] or "none stated", "head right")
        sheet.row += 1
    sheet.text(0, "line (rows of the other sheets name the line they are added to)", "note")
    for number, line in enumerate(lines, 1):
        sheet.cell(number, line["line"], "count")
    sheet.row += 1
    return sheet.row


def _measure(
    sheet: Sheet, lines: Sequence[Record], column: Column, days: Listing, pages: Sequence[Page], key: int
) -> None:
    """Write the sums of one column of the days, line by line; in full below them where a number cannot be."""
    sheet.text(0, column.name.replace("_", " "), "label")
    values = [line[column.name] if line[column.name] is not None else Decimal(0) for line in lines]
    for number, value in enumerate(values, 1):
        condition = f"{xl_col_to_name(number)}${key}"
        sheet.formula(number, f"={sum_where(pages, _place(days, column.name), condition)}", value, column.kind)
    sheet.row += 1
    if any(is_long(value) for value in values):
        sheet.text(0, f"{column.name.replace('_', ' ')}: {EXACT}", "note")
        for number, value in enumerate(values, 1):
            if is_long(value):
                sheet.text(number, f"{value:,f}", "exact")
        sheet.row += 1


def _ties(
    chosen: Mapping[str, Listing], pages: Mapping[str, Sequence[Page]]
) -> list[tuple[str, Callable[[str], str], str]]:
    """Return what must be zero: what it is, the formula of a line's condition, and how it looks."""

    def added(name: Literal["days", "breaks"], column: str, key: str) -> str:
        return sum_where(pages[name], _place(chosen[name], column), key)

    def rest(key: str) -> str:
        parts = (added("days", each, key) for each in ("line_amount", "unallocated_amount", "subtotal_price"))
        return "={}".format(_ROUNDS.format("{}+{}-({})".format(*parts)))

    def listed(key: str) -> str:
        return f"={added('days', 'break_count', key)}-({count_where(pages['breaks'], key)})"

    def residuals(column: str) -> Callable[[str], str]:
        return lambda key: "={}".format(
            _ROUNDS.format(f"{added('days', column, key)}-({added('breaks', column, key)})")
        )

    return [
        ("line amounts and unallocated less subtotals", rest, "amount"),
        ("breaks of the days less breaks listed", listed, "count"),
        ("residuals of totals, days less breaks", residuals("total_residual"), "amount"),
        ("residuals of subtotals, days less breaks", residuals("subtotal_residual"), "amount"),
    ]


def _open(sheet: Sheet, reconciled: Reconciliation, restatements: Listing, pages: Sequence[Page]) -> None:
    found = reconciled.open_restatements()
    _said(sheet, "Open restatements of closed days" if found else "Open restatements of closed days: none", "strong")
    if not found:
        return
    for number, name in enumerate(("measure", "currency", "line", "restatements", "restatement amount")):
        sheet.text(number, name, "head" if number < 2 else "head right")
    sheet.row += 1
    for each in found:
        key = f"$C{sheet.row + 1}"
        sheet.text(0, each["measure"].replace("_", " "), "label")
        sheet.text(1, each["currency"] or "none stated")
        sheet.cell(2, each["line"], "count")
        sheet.formula(3, f"={count_where(pages, key)}", each["restatements"], "count")
        difference = sum_where(pages, _place(restatements, "restatement_amount"), key)
        sheet.formula(4, f"={difference}", each["restatement_amount"], "amount")
        sheet.row += 1


def _listing(
    book: Book,
    reconciled: Reconciliation,
    listing: Listing,
    pages: Sequence[Page],
    sums: Mapping[str, Any],
    progress: Progress | None,
) -> None:
    total = sum(page.last - page.first + 1 for page in pages)
    rows, done = listing.rows(reconciled.db), 0
    has_long = listing.largest(reconciled.db) >= BEYOND
    for number, page in enumerate(pages or [Page(listing.name, _ABOVE + 1, _ABOVE)]):
        sheet = book.sheet(page.sheet)
        _said(sheet, listing.says, "note")
        sheet.row += 1
        if not number:
            _totals(sheet, listing, pages, sums)
        sheet.row = _ABOVE - 1
        sheet.head(listing.columns, has_long=has_long)
        here = page.last - page.first + 1
        sheet.hold(2, here, len(listing.columns))
        for _ in range(here):
            sheet.line(next(rows), listing.columns)
            done += 1
            if progress is not None and done % 10_000 == 0:
                progress(f"workbook: {listing.name}", done, total)


def _totals(sheet: Sheet, listing: Listing, pages: Sequence[Page], sums: Mapping[str, Any]) -> None:
    """Write the sums of the rows in sight, over all sheets of the listing; none where they would add currencies."""
    if not any(column.is_summed for column in listing.columns) or not pages:
        return
    if not sums:
        sheet.text(0, "Several currencies: sums stand by currency, on the summary", "note")
        return
    sheet.text(0, "rows in sight", "strong")
    for number, column in enumerate(listing.columns):
        if column.is_summed:
            value = sums[column.name] if sums[column.name] is not None else Decimal(0)
            sheet.formula(number, f"={shown(pages, number)}", value, f"total {column.kind}")


def _said(sheet: Sheet, text: str, look: str) -> None:
    sheet.text(0, text, look)
    sheet.row += 1


def _place(listing: Listing, name: str) -> int:
    return next(number for number, column in enumerate(listing.columns) if column.name == name)
