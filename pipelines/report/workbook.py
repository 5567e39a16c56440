"""Write a reconciliation as a workbook whose totals are live formulas with stored values.

Formulas span all sheets of a split listing. Amounts beyond the precision of a spreadsheet's doubles are also written
as text. Rows come from `sql/finance/listing_*.sql`, streamed, never all held at once.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from xlsxwriter.utility import xl_col_to_name

from pipelines.finance.reconciliation import AMOUNTS, COUNTS
from pipelines.finance.released import digits, query
from pipelines.landing.charges import PRICES
from pipelines.report.finance_views import draft_of, undated, verdict
from pipelines.report.sheets import BEYOND, EXACT, ROWS_A_SHEET, Book, Page, Sheet, amount_look, is_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from pipelines.finance.reconciliation import Reconciliation, Record

    Progress = Callable[[str, int, int], None]

_ABOVE = 4  # rows above a listing's first one: description, blank, totals, column names
# Checks that must be zero: what is added or taken off, each a column of a listing; "count" is its number of rows.
_TIES = (
    (
        "line amounts plus unallocated less subtotals",
        (("+", "days", "line_amount"), ("+", "days", "unallocated_amount"), ("-", "days", "subtotal_price")),
    ),
    ("breaks by day less breaks listed", (("+", "days", "break_count"), ("-", "breaks", "count"))),
    *(
        (f"{part} residuals by day less those of breaks", (("+", "days", column), ("-", "breaks", column)))
        for part, column in (("total", "total_residual"), ("subtotal", "subtotal_residual"))
    ),
)
_AT_ONCE = 2_000


def write_workbook(
    reconciled: Reconciliation,
    path: Path,
    *,
    all_orders: bool = False,
    rows_a_sheet: int = ROWS_A_SHEET,
    progress: Progress | None = None,
) -> None:
    """Write the workbook to `path` atomically; raise WorkbookError or ReportFileError.

    `progress` gets (what, done, total).
    """
    chosen = listings(reconciled, all_orders=all_orders)
    created = dt.datetime.fromisoformat(reconciled.manifest.published_at)
    title = f"Reconciliation, {reconciled.selection.description}"
    with draft_of(path) as draft, Book(draft, title, created) as book:
        pages = {listing.name: _pages(listing.name, listing.count(reconciled.db), rows_a_sheet) for listing in chosen}
        _write_summary(book.sheet("summary"), reconciled, {listing.name: listing for listing in chosen}, pages)
        is_one_currency = len({line["currency"] for line in reconciled.lines()}) <= 1
        for listing in chosen:
            sums = listing.sums(reconciled.db) if is_one_currency and pages[listing.name] else {}
            _write_listing(book, reconciled, listing, pages[listing.name], sums, progress)


def _pages(name: str, rows: int, rows_a_sheet: int) -> list[Page]:
    """Return the pages of a listing; an empty one has a sheet but no page to add up."""
    starts = range(0, rows, rows_a_sheet)
    return [
        Page(name if not number else f"{name} {number + 1}", _ABOVE + 1, _ABOVE + min(rows_a_sheet, rows - start))
        for number, start in enumerate(starts)
    ]


def _write_summary(
    sheet: Sheet, reconciled: Reconciliation, chosen: Mapping[str, Listing], pages: Mapping[str, Sequence[Page]]
) -> None:
    manifest, lines = reconciled.manifest, reconciled.lines()
    sheet.tall(2)
    _write_line(sheet, f"Reconciliation: {reconciled.selection.description}", "title")
    _write_line(sheet, f"Release {manifest.id}, published at {manifest.published_at} (UTC)", "note")
    _write_line(sheet, verdict(reconciled), "strong")
    if note := undated(reconciled):
        _write_line(sheet, note, "note")
    _write_line(sheet, "Every figure below is a live sum over the rows of the other sheets.", "note")
    _write_line(sheet, f"Currencies and sale classes are never added. Beyond 15 digits: see {EXACT}.", "note")
    sheet.row += 1
    key = _heads(sheet, lines)
    for column in MEASURES:
        _measure(sheet, lines, column, chosen["days"], pages["days"], key)
    sheet.row += 1
    _write_line(sheet, "Checks: must be zero", "strong")
    listed = _with_listed(reconciled.db, lines, chosen["breaks"])
    for what, terms in _TIES:
        sheet.text(0, what, "label")
        for number, line in enumerate(listed, 1):
            difference, value = "", Decimal(0)
            for sign, name, field in terms:
                cell = f"{xl_col_to_name(number)}${key}"
                difference += f"{sign}({_by_line(chosen[name], pages[name], field, cell)})"
                amount = line.get(f"listed_{field}" if name == "breaks" else field) or 0
                value += amount if sign == "+" else -amount
            # sums of doubles are exact to the cent, or to the digits of a currency that has more
            decimals = max(digits(line["currency"]), 2)
            look = "count" if terms[-1][-1] == "count" else amount_look(value, line["currency"])
            sheet.formula(number, f"=ROUND({difference[1:]},{decimals})", round(value, decimals), look)
        sheet.row += 1
    sheet.row += 1
    _unposted(sheet, reconciled, chosen["restatements"], pages["restatements"])
    sheet.widen((46, *(22 for _ in range(max(len(lines), 4)))))


def _heads(sheet: Sheet, lines: Sequence[Record]) -> int:
    """Write the heading of each line, a column for each; return the row of their numbers."""
    for what in ("sale_class", "currency"):
        sheet.text(0, what.replace("_", " "), "head")
        for number, line in enumerate(lines, 1):
            sheet.text(number, line[what] or "not stated", "head right")
        sheet.row += 1
    sheet.text(0, "line (rows of the other sheets refer to this number)", "note")
    for number, line in enumerate(lines, 1):
        sheet.cell(number, line["line"], "count")
    sheet.row += 1
    return sheet.row


def _measure(
    sheet: Sheet, lines: Sequence[Record], column: Column, days: Listing, pages: Sequence[Page], key: int
) -> None:
    """Write the sums of one column of the days by line; below them, in full, those beyond a double's precision."""
    sheet.text(0, column.name.replace("_", " "), "label")
    values = [line[column.name] if line[column.name] is not None else Decimal(0) for line in lines]
    for number, value in enumerate(values, 1):
        cell = f"{xl_col_to_name(number)}${key}"
        look = amount_look(value, lines[number - 1]["currency"]) if column.kind == "amount" else column.kind
        sheet.formula(number, f"={_by_line(days, pages, column.name, cell)}", value, look)
    sheet.row += 1
    if any(is_long(value) for value in values):
        sheet.text(0, f"{column.name.replace('_', ' ')}: {EXACT}", "note")
        for number, value in enumerate(values, 1):
            if is_long(value):
                sheet.text(number, f"{value:,f}", "exact")
        sheet.row += 1


def _with_listed(db: duckdb.DuckDBPyConnection, lines: Sequence[Record], breaks: Listing) -> list[Record]:
    """Return the lines with the count and the residuals of the breaks that are listed for each."""
    sums = db.execute(
        "select line, count(*) as listed_count, sum(total_residual) as listed_total_residual, "
        f"sum(subtotal_residual) as listed_subtotal_residual from ({breaks.query}) group by line",
        breaks.values,
    )
    names = [column[0] for column in sums.description or ()]
    listed = {row[0]: dict(zip(names, row, strict=True)) for row in sums.fetchall()}
    return [line | listed.get(line["line"], {}) for line in lines]


def _unposted(sheet: Sheet, reconciled: Reconciliation, restatements: Listing, pages: Sequence[Page]) -> None:
    found = reconciled.unposted_restatements()
    title = "Unposted restatements of closed days"
    _write_line(sheet, title if found else f"{title}: none", "strong")
    if not found:
        return
    for number, name in enumerate(("measure", "currency", "line", "restatements", "restatement amount")):
        sheet.text(number, name, "head" if number < 2 else "head right")
    sheet.row += 1
    for row in found:
        key = f"$C{sheet.row + 1}"
        sheet.text(0, row["measure"].replace("_", " "), "label")
        sheet.text(1, row["currency"] or "not stated")
        sheet.cell(2, row["line"], "count")
        sheet.formula(3, f"={_by_line(restatements, pages, 'count', key)}", row["restatement_count"], "count")
        amount = _by_line(restatements, pages, "restatement_amount", key)
        value = row["restatement_amount"]
        sheet.formula(4, f"={amount}", value, amount_look(value, row["currency"], row["measure"]))
        sheet.row += 1


def _write_listing(
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
        _write_line(sheet, listing.description, "note")
        sheet.row += 1
        if not number:
            _totals(sheet, listing, pages, sums, next((line["currency"] for line in reconciled.lines()), None))
        sheet.row = _ABOVE - 1
        sheet.head(listing.columns, has_long=has_long)
        here = page.last - page.first + 1
        sheet.freeze(2, here, len(listing.columns))
        for _ in range(here):
            sheet.line(next(rows), listing.columns)
            done += 1
            if progress is not None and done % 10_000 == 0:
                progress(f"workbook: {listing.name}", done, total)


def _totals(
    sheet: Sheet, listing: Listing, pages: Sequence[Page], sums: Mapping[str, Any], currency: str | None
) -> None:
    """Write the sums of the visible rows over all sheets of the listing; none if they would add currencies."""
    if not any(column.is_summed for column in listing.columns) or not pages:
        return
    if not sums:
        sheet.text(0, "Several currencies: see the summary for sums by currency", "note")
        return
    sheet.text(0, "visible rows", "strong")
    for number, column in enumerate(listing.columns):
        if column.is_summed:
            value = sums[column.name] if sums[column.name] is not None else Decimal(0)
            look = amount_look(value, currency) if column.kind == "amount" else column.kind
            formula = "=" + "+".join(f"SUBTOTAL(109,{page.range(number)})" for page in pages)
            sheet.formula(number, formula, value, f"total {look}")


def _write_line(sheet: Sheet, text: str, look: str) -> None:
    sheet.text(0, text, look)
    sheet.row += 1


def _by_line(listing: Listing, pages: Sequence[Page], name: str, cell: str) -> str:
    """Return the formula for the sum of a column, or of "count" the number, of the rows of the line in a cell."""
    if name == "count":
        terms = [f"COUNTIFS({page.range(0)},{cell})" for page in pages]
    else:
        place = next(place for place, each in enumerate(listing.columns) if each.name == name)
        terms = [f"SUMIFS({page.range(place)},{page.range(0)},{cell})" for page in pages]
    return "+".join(terms) or "0"


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and whether its sum means something.

    A kind is text, prose (a longer text), id (a number used as a name), count, amount, day, clock (a local time in the
    zone of column `timezone`) or instant, which is converted to one.
    """

    name: str
    kind: str
    is_summed: bool


@dataclass(frozen=True)
class Listing:
    """A table to write out: its grain and source, its columns, and a select that gives them in order."""

    name: str
    description: str
    columns: tuple[Column, ...]
    query: str
    values: Mapping[str, Any]

    def count(self, db: duckdb.DuckDBPyConnection) -> int:
        """Return the number of rows."""
        row = db.execute(f"select count(*) from ({self.query})", self.values).fetchone()
        return int(row[0]) if row else 0

    def sums(self, db: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Return the exact sum of each column that can be summed."""
        names = [column.name for column in self.columns if column.is_summed]
        if not names:
            return {}
        sums = ", ".join(f"sum({name})" for name in names)
        row = db.execute(f"select {sums} from ({self.query})", self.values).fetchone()
        return dict(zip(names, row or (), strict=True))

    def largest(self, db: duckdb.DuckDBPyConnection) -> Decimal:
        """Return the largest absolute amount; zero if there is none."""
        largest = ", ".join(f"max(abs({column.name}))" for column in self.columns if column.kind == "amount")
        row = db.execute(f"select {largest} from ({self.query})", self.values).fetchone()
        return max((amount for amount in row or () if amount is not None), default=Decimal(0))

    def rows(self, db: duckdb.DuckDBPyConnection) -> Iterator[list[Any]]:
        """Yield the rows; instants are local times in the row's time zone."""
        zone = next((place for place, column in enumerate(self.columns) if column.name == "timezone"), None)
        instants = [place for place, column in enumerate(self.columns) if column.kind == "instant"]
        with db.cursor() as cursor:
            cursor.execute("set timezone = 'UTC'")
            cursor.execute(self.query, self.values)
            while rows := cursor.fetchmany(_AT_ONCE):
                for row in map(list, rows):
                    for place in instants:
                        if zone is not None and row[place] is not None:
                            row[place] = row[place].astimezone(zoneinfo.ZoneInfo(row[zone])).replace(tzinfo=None)
                    yield row


def listings(reconciled: Reconciliation, *, all_orders: bool) -> list[Listing]:
    """Return the lists below the summary: days, breaks, restatements, evidence; all orders if asked."""

    def listing(name: str, select: str, columns: tuple[Column, ...], description: str, **values: Any) -> Listing:
        given = reconciled.selection.values | values
        return Listing(name, description, columns, query(f"listing_{select}"), given)

    days = "One row per store, business day and sale class, from mart.daily_reconciliations."
    breaks = "One row per order with a break, from mart.order_reconciliation: a question to the partner."
    orders = "One row per order, balanced or not, from mart.order_reconciliation."
    changes = "One row per change to a closed day, from mart.restatements; never add measures to one another."
    evidence = "What the figures rest on: the release, the effective rules, their evidence, and findings."
    return [
        listing("days", "days", _DAYS, days),
        listing("breaks", "orders", _ORDER_COLUMNS, breaks, only_breaks=True),
        *([listing("orders", "orders", _ORDER_COLUMNS, orders, only_breaks=False)] if all_orders else []),
        listing("restatements", "restatements", _RESTATEMENTS, changes),
        listing("evidence", "evidence", _EVIDENCE, evidence, **_release(reconciled)),
    ]


def _columns(text: str) -> tuple[Column, ...]:
    """Return the columns of a text such as `store_name order_count:count+`; one of texts is written without a kind."""
    words = (word.partition(":") for word in text.split())
    return tuple(Column(name, kind.rstrip("+") or "text", kind.endswith("+")) for name, _, kind in words)


MEASURES = _columns(" ".join([*(f"{name}:count+" for name in COUNTS), *(f"{name}:amount+" for name in AMOUNTS)]))
_STORE = "store_id:id store_name currency"
_DAYS = (*_columns(f"line:count business_date:day {_STORE} sale_class"), *MEASURES)
_ORDER_COLUMNS = _columns(
    f"line:count order_id:id business_date:day {_STORE} sale_class status created_at_local:clock timezone verdict "
    + " ".join(f"{name}:amount+" for name in (*PRICES, "line_amount", "unallocated_amount", "formula_subtotal"))
    + " subtotal_residual:amount+ subtotal_likely_cause formula_total:amount+ total_residual:amount+ "
    "total_likely_cause reason"
)
_RESTATEMENTS = _columns(
    f"line:count restatement_no:id order_id:id closed_business_date:day {_STORE} sale_class measure "
    "closed_amount:amount prior_restated_amount:amount current_amount:amount restatement_amount:amount cause "
    "detected_at:instant timezone posted_period state"
)
_EVIDENCE = _columns(
    "section item detail:prose order_count:count currency control_amount:amount actual_amount:amount amount:amount"
)


def _release(reconciled: Reconciliation) -> dict[str, list[str]]:
    manifest = reconciled.manifest
    details = {
        "release": manifest.id,
        "published at": f"{manifest.published_at} (UTC)",
        "selection": reconciled.selection.description,
        "commit of the warehouse": manifest.commit,
        "SHA-256 of the code": manifest.code.get("sha256", ""),
        "hash of the settings": manifest.settings,
    }
    return {"items": list(details), "details": list(details.values())}
