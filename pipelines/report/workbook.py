"""Write a reconciliation as a workbook whose totals are live formulas with stored values.

Text stays text, ids are text, amounts keep their decimals: those beyond the precision of a spreadsheet's doubles are
also written as text. Rows come from `sql/finance/listing_*.sql`, streamed in constant memory; every return code of a
write is checked.
"""

import datetime as dt
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import xlsxwriter
from xlsxwriter.utility import xl_col_to_name

from pipelines.finance.reconciliation import AMOUNTS, COUNTS, Reconciliation, Record
from pipelines.finance.released import FinanceError, finance_sql
from pipelines.landing.shape import currency_decimals
from pipelines.literals import is_formula
from pipelines.report.finance_views import draft_of, undated, verdict
from pipelines.report.identities import bridge

Progress = Callable[[str, int, int], None]

MOST_ROWS = 1_000_000  # of a listing; a sheet has 1,048,576
EXACT = "amounts in full"  # a text column for amounts beyond a spreadsheet's 15 digits
_ABOVE = 4  # rows above a listing's first one: description, blank, totals, column names
_AT_ONCE = 2_000
# Checks that must be zero: amounts added or taken off, each a column of a listing; "count" is its number of rows.
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


def write_workbook(
    reconciled: Reconciliation,
    path: Path,
    *,
    all_orders: bool = False,
    most_rows: int = MOST_ROWS,
    progress: Progress | None = None,
) -> None:
    """Write the workbook atomically; raise WorkbookError or ReportFileError. `progress` gets (what, done, total)."""
    created = dt.datetime.fromisoformat(reconciled.manifest.published_at)
    title = f"Reconciliation, {reconciled.selection.description}"
    with draft_of(path) as draft, Book(draft, title, created) as book:
        chosen = {each.name: each for each in listings(reconciled, all_orders=all_orders)}
        _write_summary(book.sheet("summary"), reconciled, chosen)
        for listing in chosen.values():
            if listing.rows > most_rows:
                why = f"{listing.name}: {listing.rows:,} rows, of {most_rows:,} that a sheet takes"
                raise WorkbookError(f"{why}: choose fewer days with --from and --to")
            _write_listing(book.sheet(listing.name), reconciled, listing, progress)


def _write_summary(sheet: "Sheet", reconciled: Reconciliation, chosen: "Mapping[str, WorkbookList]") -> None:
    manifest, lines = reconciled.manifest, reconciled.lines()
    sheet.lone(f"Reconciliation: {reconciled.selection.description}", "title")
    sheet.lone(f"Release {manifest.id}, published at {manifest.published_at} (UTC)", "note")
    sheet.lone(verdict(reconciled), "strong")
    if note := undated(reconciled):
        sheet.lone(note, "note")
    sheet.lone("Every figure below is a live sum over the rows of the other sheets.", "note")
    sheet.lone(f"Currencies and sale classes are never added. Beyond 15 digits: see {EXACT}.", "note")
    sheet.row += 1
    for what in ("sale_class", "currency"):
        sheet.text(0, what.replace("_", " "), "head")
        for number, line in enumerate(lines, 1):
            sheet.text(number, line[what] or "not stated", "head right")
        sheet.row += 1
    sheet.text(0, "line (rows of the other sheets refer to this number)", "note")
    for number, line in enumerate(lines, 1):
        sheet.cell(number, line["line"], "count")
    sheet.row += 1
    keys = [f"{xl_col_to_name(number)}${sheet.row}" for number in range(len(lines) + 1)]
    for column in (*COUNTS, *AMOUNTS):
        _measure(sheet, lines, column, chosen["days"], keys)
    sheet.row += 1
    _write_bridge(sheet, reconciled, lines, chosen["days"], keys)
    sheet.row += 1
    sheet.lone("Checks: must be zero", "strong")
    listed = _with_listed(reconciled.db, lines, chosen["breaks"])
    for what, terms in _TIES:
        sheet.text(0, what, "label")
        for number, line in enumerate(listed, 1):
            difference, value = "", Decimal(0)
            for sign, name, field in terms:
                difference += f"{sign}({chosen[name].by_line(field, keys[number])})"
                amount = line.get(f"listed_{field}" if name == "breaks" else field) or 0
                value += amount if sign == "+" else -amount
            # sums of doubles are exact to the cent, or to the digits of a currency that has more
            decimals = max(currency_decimals(line["currency"]), 2)
            look = "count" if terms[-1][-1] == "count" else amount_look(value, line["currency"])
            sheet.formula(number, f"=ROUND({difference[1:]},{decimals})", round(value, decimals), look)
        sheet.row += 1
    sheet.row += 1
    _unposted(sheet, reconciled, chosen["restatements"])
    sheet.widen((46, *(22 for _ in range(max(len(lines), 5)))))


def _write_bridge(
    sheet: "Sheet", reconciled: Reconciliation, lines: Sequence[Record], days: "WorkbookList", keys: Sequence[str]
) -> None:
    """Write what leads from lines to totals, its sum, and that less the sum of the days' totals, which must be zero."""
    sheet.lone("From lines to totals", "strong")
    ways = [bridge(reconciled, line) for line in lines]
    steps = [{"lines": line["line_amount"], **one, **two} for line, (one, two) in zip(lines, ways, strict=True)]
    first = sheet.row + 1
    for name in dict.fromkeys(name for each in steps for name in each):
        sheet.text(0, name if name == "lines" else f"plus {name}", "label")
        for number, (line, each) in enumerate(zip(lines, steps, strict=True), 1):
            sheet.cell(number, each.get(name), amount_look(each.get(name), line["currency"]))
        sheet.row += 1
    for what in ("total", "total less that of the days"):
        sheet.text(0, what, "label")
        for number, line in enumerate(lines, 1):
            column, decimals = xl_col_to_name(number), max(currency_decimals(line["currency"]), 2)
            total = f"SUM({column}{first}:{column}{sheet.row})"
            value = sum(filter(None, steps[number - 1].values()), Decimal(0))
            if what != "total":
                total = f"ROUND({column}{sheet.row}-{days.by_line('total_price', keys[number])},{decimals})"
                value = round(value - (line["total_price"] or Decimal(0)), decimals)
            sheet.formula(number, f"={total}", value, amount_look(value, line["currency"]))
        sheet.row += 1


def _measure(sheet: "Sheet", lines: Sequence[Record], column: str, days: "WorkbookList", keys: Sequence[str]) -> None:
    """Write the sums of one column of the days by line; below them, in full, those beyond a double's precision."""
    name = column.replace("_", " ")
    values = [Decimal(0) if line[column] is None else line[column] for line in lines]
    sheet.text(0, name, "label")
    for number, (line, value) in enumerate(zip(lines, values, strict=True), 1):
        look = "count" if column in COUNTS else amount_look(value, line["currency"])
        sheet.formula(number, f"={days.by_line(column, keys[number])}", value, look)
    sheet.row += 1
    if any(map(is_long, values)):
        sheet.text(0, f"{name}: {EXACT}", "note")
        for number, value in enumerate(values, 1):
            if is_long(value):
                sheet.text(number, f"{value:,f}", "exact")
        sheet.row += 1


def _with_listed(db: duckdb.DuckDBPyConnection, lines: Sequence[Record], breaks: "WorkbookList") -> list[Record]:
    """Return the lines with the count and the residuals of the breaks that are listed for each."""
    names = ("listed_count", "listed_total_residual", "listed_subtotal_residual")
    query = f"select line, count(*), sum(total_residual), sum(subtotal_residual) from ({breaks.query}) group by line"
    sums = db.execute(query, breaks.values).fetchall()
    listed = {line: dict(zip(names, found, strict=True)) for line, *found in sums}
    return [line | listed.get(line["line"], {}) for line in lines]


def _unposted(sheet: "Sheet", reconciled: Reconciliation, restatements: "WorkbookList") -> None:
    found = reconciled.unposted_restatements()
    title = "Unposted restatements of closed days"
    sheet.lone(title if found else f"{title}: none", "strong")
    if not found:
        return
    for number, name in enumerate(("measure", "sale class", "currency", "line", "restatements", "restatement amount")):
        sheet.text(number, name, "head" if number < 3 else "head right")
    sheet.row += 1
    for row in found:
        key, value = f"$D{sheet.row + 1}", row["restatement_amount"]
        sheet.text(0, row["measure"].replace("_", " "), "label")
        sheet.text(1, row["sale_class"])
        sheet.text(2, row["currency"] or "not stated")
        sheet.cell(3, row["line"], "count")
        sheet.formula(4, f"={restatements.by_line('count', key)}", row["restatement_count"], "count")
        look = amount_look(value, row["currency"], row["measure"])
        sheet.formula(5, f"={restatements.by_line('restatement_amount', key)}", value, look)
        sheet.row += 1


def _write_listing(
    sheet: "Sheet", reconciled: Reconciliation, listing: "WorkbookList", progress: Progress | None
) -> None:
    sheet.lone(listing.description, "note")
    sheet.row += 1
    currencies = {line["currency"] for line in reconciled.lines()}
    if listing.sums and listing.rows and len(currencies) > 1:
        sheet.text(0, "Several currencies: see the summary for sums by currency", "note")
    elif listing.sums and listing.rows:
        sheet.text(0, "visible rows", "strong")
        for number, (name, kind) in enumerate(listing.kinds.items()):
            if name in listing.sums:  # of the rows that a filter leaves
                value = Decimal(0) if listing.sums[name] is None else listing.sums[name]
                look = amount_look(value, *currencies) if kind == "amount" else kind
                sheet.formula(number, f"=SUBTOTAL(109,{listing.cells(name)})", value, f"total {look}")
    sheet.row = _ABOVE - 1
    sheet.head(listing)
    done = 0
    with reconciled.db.cursor() as cursor:
        cursor.execute(listing.query, listing.values)
        while rows := cursor.fetchmany(_AT_ONCE):
            for row in rows:
                sheet.line(dict(zip(listing.kinds, row, strict=True)), listing.kinds)
            done += len(rows)
            if progress is not None:
                progress(f"workbook: {listing.name}", done, listing.rows)


@dataclass(frozen=True)
class WorkbookList:
    """A list below the summary: its grain and source, its columns by kind, and a select that gives its rows in order.

    A kind is text, prose (a longer text), id (a number used as a name), count, amount, day or clock (a local time).
    `sums` has the exact sum of each column that can be summed, `largest` is the largest absolute amount.
    """

    name: str
    description: str
    kinds: Mapping[str, str]
    query: str
    values: Mapping[str, Any]
    rows: int
    largest: Decimal
    sums: Mapping[str, Any]

    def cells(self, column: str) -> str:
        """Return the absolute reference to a column's cells; there is at least one row."""
        name = xl_col_to_name([*self.kinds].index(column))
        return f"'{self.name}'!${name}${_ABOVE + 1}:${name}${_ABOVE + self.rows}"

    def by_line(self, column: str, cell: str) -> str:
        """Return the formula for the sum of a column, or of "count" the number, of the rows of the line in a cell."""
        if not self.rows:
            return "0"
        lines = self.cells("line")
        return f"COUNTIFS({lines},{cell})" if column == "count" else f"SUMIFS({self.cells(column)},{lines},{cell})"


def listings(reconciled: Reconciliation, *, all_orders: bool) -> list[WorkbookList]:
    """Return the lists below the summary: days, breaks, restatements, evidence; all orders if asked."""
    manifest = reconciled.manifest
    release = {"release": manifest.id, "published at": f"{manifest.published_at} (UTC)"}
    release |= {"selection": reconciled.selection.description, "commit of the warehouse": manifest.commit}
    release |= {"SHA-256 of the code": manifest.code.get("sha256", ""), "hash of the settings": manifest.settings}
    days = "One row per store, business day and sale class, from mart.daily_reconciliations."
    breaks = "One row per order with a break, from mart.order_reconciliation: a question to the partner."
    orders = "One row per order, balanced or not, from mart.order_reconciliation."
    changes = "One row per change to a closed day, from mart.restatements; never add measures to one another."
    evidence = "What the figures rest on: the release, the effective rules, their evidence, and findings."
    return [
        _listing(reconciled, "days", "days", days, has_sums=True),
        _listing(reconciled, "breaks", "orders", breaks, has_sums=True, only_breaks=True),
        *([_listing(reconciled, "orders", "orders", orders, has_sums=True, only_breaks=False)] if all_orders else []),
        _listing(reconciled, "restatements", "restatements", changes),
        _listing(reconciled, "evidence", "evidence", evidence, items=[*release], details=[*release.values()]),
    ]


def _listing(
    reconciled: Reconciliation, name: str, select: str, description: str, *, has_sums: bool = False, **given: Any
) -> WorkbookList:
    db, text = reconciled.db, finance_sql(f"listing_{select}").replace("$selected", reconciled.selection.where())
    kinds = {column: _kind(column, kind) for column, kind, *_ in db.execute(f"describe {text}", given).fetchall()}
    amounts = [column for column, kind in kinds.items() if kind == "amount"]
    summed = [column for column, kind in kinds.items() if kind in {"count", "amount"} and column != "line"]
    figures = ["count(*)", *(f"max(abs({each}))" for each in amounts), *(f"sum({each})" for each in summed)]
    ((rows, *found),) = db.execute(f"select {', '.join(figures)} from ({text})", given).fetchall()
    largest = max((each for each in found[: len(amounts)] if each is not None), default=Decimal(0))
    sums = dict(zip(summed, found[len(amounts) :], strict=True)) if has_sums else {}
    return WorkbookList(name, description, kinds, text, given, rows, largest, sums)


def _kind(name: str, kind: str) -> str:
    """Return the kind of a column by its name and type."""
    if name == "detail":
        return "prose"
    if name.endswith(("_id", "_no")):
        return "id"
    if kind.startswith("DECIMAL"):
        return "amount"
    return "count" if "INT" in kind else {"DATE": "day", "TIMESTAMP": "clock"}.get(kind, "text")


_DIGITS = 15
_BEYOND = Decimal(10) ** 11  # below it an amount with four decimals has at most 15 digits
_LONGEST = 32_000  # characters of a cell's text; the limit is 32,767
_FIRST_DAY = dt.date(1900, 3, 1)  # spreadsheets disagree about earlier dates
_FONT = {"font_name": "Calibri", "font_size": 10, "valign": "top"}
# By the digits of the currency; a whole number needs no point, other digits beyond them are shown.
_AMOUNTS = {0: "#,##0", 1: "#,##0.0###", 2: "#,##0.00##", 3: "#,##0.000#", 4: "#,##0.0000"}
_NUMBERS = {"count": "#,##0"} | {f"amount {least}": f"{look};[Red]-{look}" for least, look in _AMOUNTS.items()}
_HEAD = {"bold": True, "bg_color": "#E7ECF2", "text_wrap": True}
_LOOKS: dict[str, dict[str, Any]] = {
    "text": {"indent": 1},
    "like a formula": {"indent": 1, "quote_prefix": True},
    "prose": {"indent": 1, "text_wrap": True},
    "id": {"indent": 1, "num_format": "@"},
    **{name: {"num_format": look} for name, look in _NUMBERS.items()},
    **{f"total {name}": {"num_format": look, "bold": True} for name, look in _NUMBERS.items()},
    "day": {"indent": 1, "num_format": "yyyy-mm-dd", "align": "left"},
    "clock": {"indent": 1, "num_format": "yyyy-mm-dd hh:mm:ss", "align": "left"},
    "title": {"bold": True, "font_size": 14},
    "strong": {"bold": True},
    "note": {"italic": True, "font_color": "#555555"},
    "label": {},
    "head": {**_HEAD, "indent": 1},
    "head right": {**_HEAD, "align": "right"},
    "exact": {"align": "right", "font_color": "#555555"},
}
_WIDTHS = {"text": 15, "prose": 100, "id": 13, "count": 9, "amount": 13, "day": 11, "clock": 18}
_WIDTHS_BY_NAME = {"line": 5, "store_name": 30, "section": 27, "item": 48, "timezone": 19, "reason": 36}
_PAGE_WIDE = 14  # columns that are legible when printed on one page


class WorkbookError(FinanceError):
    """A cell or the workbook cannot be written; the message says which."""


class Book(AbstractContextManager["Book"]):
    """A workbook being written to `path`, spooled in a folder beside it; exists only after a successful exit."""

    def __init__(self, path: Path, title: str, created: dt.datetime) -> None:
        self._spool = tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.")
        as_text = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
        self._book = xlsxwriter.Workbook(
            str(path), {"constant_memory": True, "tmpdir": self._spool.name, "use_zip64": True, **as_text}
        )
        self._book.set_properties({"title": title, "created": created.replace(tzinfo=None)})
        self._looks = {name: self._book.add_format({**_FONT, **look}) for name, look in _LOOKS.items()}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._book.close()
        except xlsxwriter.exceptions.XlsxWriterException as error:
            raise WorkbookError(f"the workbook cannot be written: {error}") from None
        finally:
            for sheet in self._book.worksheets():
                sheet.row_data_fh.close()
            self._spool.cleanup()

    def sheet(self, name: str) -> "Sheet":
        """Add a sheet."""
        return Sheet(name, self._book.add_worksheet(name), self._looks)


class Sheet:
    """A sheet written from the top down; `row` is the next one, from 0."""

    def __init__(self, name: str, sheet: Any, looks: Mapping[str, Any]) -> None:
        self.row = 0
        self._name, self._sheet, self._looks = name, sheet, looks
        sheet.set_landscape()
        sheet.set_paper(9)  # A4
        sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        sheet.set_footer("&L&A&Cpage &P of &N&R&F")
        sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})

    def lone(self, text: str, look: str) -> None:
        """Write a row of one text."""
        self.text(0, text, look)
        self.row += 1

    def text(self, column: int, text: str, look: str = "text") -> None:
        """Write a text, never a formula, number or link."""
        if look in {"text", "prose", "label"} and is_formula(text):
            look = "like a formula"
        if len(text) > _LONGEST // 2 and len(text.encode("utf-16-le")) // 2 > _LONGEST:
            text = text[: _LONGEST // 2] + "… (cut)"
        self._check(self._sheet.write_string(self.row, column, text, self._looks[look]), column)

    def formula(self, column: int, formula: str, value: Any, look: str) -> None:
        """Write a formula with its value."""
        self._check(self._sheet.write_formula(self.row, column, formula, self._looks[look], value), column)

    def cell(self, column: int, value: Any, look: str) -> None:
        """Write a value of a listing; a null leaves the cell empty."""
        if value is None:
            return
        if look in {"text", "prose", "id"}:
            self.text(column, str(value), look)
        elif look in _NUMBERS:
            self._check(self._sheet.write_number(self.row, column, value, self._looks[look]), column)
        elif (value.date() if isinstance(value, dt.datetime) else value) < _FIRST_DAY:
            self.text(column, str(value))
        else:
            self._check(self._sheet.write_datetime(self.row, column, value, self._looks[look]), column)

    def line(self, row: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
        """Write a row of a listing, followed by amounts beyond a double's precision as text."""
        for number, (name, kind) in enumerate(kinds.items()):
            value = row[name]
            look = amount_look(value, row.get("currency"), row.get("measure")) if kind == "amount" else kind
            self.cell(number, value, look)
        if exact := [f"{name.replace('_', ' ')} {value:,f}" for name, value in row.items() if is_long(value)]:
            self.text(len(kinds), "; ".join(exact))
        self.row += 1

    def head(self, listing: WorkbookList) -> None:
        """Write column names over a filter, set widths; keep names and first columns in view, and on printed pages."""
        kinds = listing.kinds
        for number, (name, kind) in enumerate(kinds.items()):
            self.text(number, name.replace("_", " "), "head right" if kind in {"count", "amount"} else "head")
            self._sheet.set_column(number, number, _WIDTHS_BY_NAME.get(name, _WIDTHS[kind]))
        if listing.largest >= _BEYOND:
            self.text(len(kinds), EXACT, "head")
            self._sheet.set_column(len(kinds), len(kinds), 60)
        self._sheet.repeat_rows(self.row)
        if is_wide := len(kinds) > _PAGE_WIDE:
            self._sheet.repeat_columns(0, 3)
        self._sheet.fit_to_pages(2 if is_wide else 1, 0)
        self.row += 1
        self._sheet.freeze_panes(self.row, 2)
        if listing.rows:
            last = self.row + listing.rows - 1
            self._check(self._sheet.autofilter(self.row - 1, 0, last, len(kinds) - 1), 0)

    def widen(self, widths: Sequence[int]) -> None:
        """Set the widths of the first columns, in characters, and fit them to one printed page."""
        for number, width in enumerate(widths):
            self._sheet.set_column(number, number, width)
        self._sheet.fit_to_pages(1, 0)

    def _check(self, code: int | None, column: int) -> None:
        """Raise WorkbookError if a write failed."""
        if code:
            cell = f"{xl_col_to_name(column)}{self.row + 1}"
            said = f"sheet {self._name}, cell {cell} cannot be written"
            raise WorkbookError(f"{said} (code {code}): a limit was exceeded")


def amount_look(value: Any, currency: str | None = None, measure: str | None = None) -> str:
    """Return the look of an amount in its currency; order_count, a measure, is a number of orders."""
    least = 0 if measure == "order_count" else currency_decimals(currency)
    return f"amount {1 if not least and value is not None and value % 1 else least}"


def is_long(amount: Any) -> bool:
    """Return whether an amount has more digits than a spreadsheet keeps."""
    if not isinstance(amount, Decimal) or -_BEYOND < amount < _BEYOND:
        return False
    return len(f"{abs(amount):f}".replace(".", "").strip("0")) > _DIGITS
