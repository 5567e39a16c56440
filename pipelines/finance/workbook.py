"""Write a reconciliation as a workbook: totals are live formulas over the rows, with their values stored too.

The summary spans all sheets of a listing that was split. Amounts that a spreadsheet's doubles cannot hold in full stand
as text too. Knows no terminal.
"""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.listings import MEASURES, Column, Listing, listings
from pipelines.finance.sheets import (
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
_LABELS = (Column("line", "count"), Column("currency", "text"), Column("sale_class", "text"))
_PARTS = (
    Column("line", "count"),
    Column("currency", "text"),
    Column("part", "text"),
    Column("restatements", "count"),
    Column("difference", "amount"),
)
_TIES: tuple[tuple[str, str], ...] = (
    ("lines and the rest less subtotals", "amount"),
    ("breaks by day less breaks listed", "count"),
    ("residuals of totals by day less those listed", "amount"),
    ("residuals of subtotals by day less those listed", "amount"),
)


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
    _said(sheet, f"Reconciliation: {reconciled.selection.said}", "title")
    _said(sheet, f"Release {manifest.id}, published at {manifest.published_at} (UTC)", "note")
    variances = reconciled.variances()
    found = ", ".join(f"{number:,} {what}" for what, number in variances.items() if number)
    _said(sheet, f"Variances: {found}" if found else "Balanced: no variances", "total")
    left_out = reconciled.without_a_day()
    if left_out:
        _said(sheet, f"{left_out:,} orders are in no span of days: their business day is not known", "note")
    _said(
        sheet,
        "Every figure below is a live sum over the rows of the other sheets. Currencies and sale classes are never "
        f"added; amounts of more than 15 digits stand in full under {EXACT}.",
        "note",
    )
    sheet.row += 1
    columns = (*_LABELS, *MEASURES)
    sheet.head(columns)
    _lines(sheet, lines, chosen["days"], pages["days"])
    sheet.row += 1
    _ties(sheet, lines, chosen, pages)
    sheet.row += 1
    _open(sheet, reconciled, chosen["restatements"], pages["restatements"])
    sheet.widen((9, 14, 12, *(11 for _ in range(len(MEASURES)))))


def _lines(sheet: Sheet, lines: Sequence[Record], days: Listing, pages: Sequence[Page]) -> None:
    for line in lines:
        _labels(sheet, line)
        exact = []
        for number, column in enumerate(MEASURES, len(_LABELS)):
            value = line[column.name] if line[column.name] is not None else Decimal(0)
            sheet.formula(number, sum_where(pages, _place(days, column.name), f"$A{sheet.row + 1}"), value, column.kind)
            if is_long(value):
                exact.append(f"{column.name} {value:,f}")
        if exact:
            sheet.text(len(_LABELS) + len(MEASURES), "; ".join(exact))
        sheet.row += 1


def _labels(sheet: Sheet, line: Record) -> None:
    sheet.cell(0, line["line"], "count")
    sheet.text(1, line["currency"] or "none stated")
    sheet.text(2, line["sale_class"])


def _ties(
    sheet: Sheet, lines: Sequence[Record], chosen: Mapping[str, Listing], pages: Mapping[str, Sequence[Page]]
) -> None:
    """Write what must be zero, line by line: each a formula over the rows."""
    _said(sheet, "What must be zero", "total")
    for number, column in enumerate(_LABELS):
        sheet.text(number, column.name, "head")
    for number, (what, _) in enumerate(_TIES, len(_LABELS)):
        sheet.text(number, what, "head")
    sheet.row += 1
    days, breaks = chosen["days"], chosen["breaks"]
    for line in lines:
        _labels(sheet, line)
        key = f"$A{sheet.row + 1}"

        def by_day(column: str, key: str = key) -> str:
            return sum_where(pages["days"], _place(days, column), key).removeprefix("=")

        def listed(column: str, key: str = key) -> str:
            return sum_where(pages["breaks"], _place(breaks, column), key).removeprefix("=")

        rest = f"{by_day('line_amount')}+{by_day('unallocated_amount')}-({by_day('subtotal_price')})"
        formulas = (
            f"=ROUND({rest},2)",
            f"={by_day('breaks')}-({count_where(pages['breaks'], key).removeprefix('=')})",
            f"=ROUND({by_day('total_residual')}-({listed('total_residual')}),2)",
            f"=ROUND({by_day('subtotal_residual')}-({listed('subtotal_residual')}),2)",
        )
        for number, (formula, (_, kind)) in enumerate(zip(formulas, _TIES, strict=True), len(_LABELS)):
            sheet.formula(number, formula, 0, kind)
        sheet.row += 1


def _open(sheet: Sheet, reconciled: Reconciliation, restatements: Listing, pages: Sequence[Page]) -> None:
    found = reconciled.open_restatements()
    _said(sheet, "Open restatements of closed days" if found else "Open restatements of closed days: none", "total")
    if not found:
        return
    for number, column in enumerate(_PARTS):
        sheet.text(number, column.name, "head")
    sheet.row += 1
    for each in found:
        key = f"$A{sheet.row + 1}"
        sheet.cell(0, each["line"], "count")
        sheet.text(1, each["currency"] or "none stated")
        sheet.text(2, each["part"])
        sheet.formula(3, count_where(pages, key), each["restatements"], "count")
        sheet.formula(4, sum_where(pages, _place(restatements, "difference"), key), each["difference"], "amount")
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
    for number, page in enumerate(pages or [Page(listing.name, _ABOVE + 1, _ABOVE)]):
        sheet = book.sheet(page.sheet)
        _said(sheet, listing.says, "note")
        sheet.row += 1
        if not number:
            _totals(sheet, listing, pages, sums)
        sheet.row = _ABOVE - 1
        sheet.head(listing.columns)
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
    sheet.text(0, "rows in sight", "total")
    for number, column in enumerate(listing.columns):
        if column.is_summed:
            value = sums[column.name] if sums[column.name] is not None else Decimal(0)
            sheet.formula(number, shown(pages, number), value, f"total {column.kind}")


def _said(sheet: Sheet, text: str, look: str) -> None:
    sheet.text(0, text, look)
    sheet.row += 1


def _place(listing: Listing, name: str) -> int:
    return next(number for number, column in enumerate(listing.columns) if column.name == name)
