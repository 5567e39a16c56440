"""Sheets of a workbook, written row by row in constant memory; every return code of a write is checked.

Knows cell types (text stays text, ids are text, amounts keep their decimals), not the meaning of figures.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import xlsxwriter
from xlsxwriter.utility import xl_col_to_name

from pipelines.finance.released import FinanceError, digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pipelines.report.workbook import Column

ROWS_A_SHEET = 1_000_000  # a sheet has 1,048,576; the rest is for headings
EXACT = "amounts in full"  # a text column for amounts beyond a spreadsheet's 15 digits
_DIGITS = 15
BEYOND = Decimal(10) ** 11  # below it an amount with four decimals has at most 15 digits
_LONGEST = 32_000  # characters of a cell's text; the limit is 32,767
_LIKE_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FIRST_DAY = dt.date(1900, 3, 1)  # spreadsheets disagree about earlier dates
_FONT = {"font_name": "Calibri", "font_size": 10, "valign": "top"}
# By the digits of the currency; a whole number needs no point, other digits beyond them are shown.
_AMOUNTS = {0: "#,##0", 1: "#,##0.0###", 2: "#,##0.00##", 3: "#,##0.000#", 4: "#,##0.0000"}
_HEAD = {"bold": True, "bg_color": "#E7ECF2", "text_wrap": True}
_LOOKS: dict[str, dict[str, Any]] = {
    "text": {"indent": 1},
    "like a formula": {"indent": 1, "quote_prefix": True},
    "prose": {"indent": 1, "text_wrap": True},
    "id": {"indent": 1, "num_format": "@"},
    "count": {"num_format": "#,##0"},
    **{f"amount {least}": {"num_format": f"{look};[Red]-{look}"} for least, look in _AMOUNTS.items()},
    "day": {"indent": 1, "num_format": "yyyy-mm-dd", "align": "left"},
    "clock": {"indent": 1, "num_format": "yyyy-mm-dd hh:mm:ss", "align": "left"},
    "title": {"bold": True, "font_size": 14},
    "strong": {"bold": True},
    "note": {"italic": True, "font_color": "#555555"},
    "label": {},
    "head": {**_HEAD, "indent": 1},
    "head right": {**_HEAD, "align": "right"},
    "total count": {"num_format": "#,##0", "bold": True},
    **{
        f"total amount {least}": {"num_format": f"{look};[Red]-{look}", "bold": True}
        for least, look in _AMOUNTS.items()
    },
    "exact": {"align": "right", "font_color": "#555555"},
}
_WIDTHS = {"text": 15, "prose": 100, "id": 13, "count": 9, "amount": 13, "day": 11, "clock": 18, "instant": 18}
_WIDTHS_BY_NAME = {
    "line": 5,
    "store_name": 30,
    "currency": 9,
    "sale_class": 10,
    "section": 27,
    "item": 48,
    "timezone": 19,
    "reason": 36,
    "subtotal_likely_cause": 20,
    "total_likely_cause": 20,
    "cause": 20,
}
_PAGE_WIDE = 14  # columns that are legible when printed on one page
_LINE_HEIGHT = 13


class WorkbookError(FinanceError):
    """A cell or the workbook cannot be written; the message says which."""


@dataclass(frozen=True)
class Page:
    """The rows of a listing on one sheet: the sheet's name, first and last row (from 1)."""

    sheet: str
    first: int
    last: int

    def range(self, column: int) -> str:
        """Return the absolute reference to a column's cells; there is at least one row."""
        name = xl_col_to_name(column)
        return f"'{self.sheet}'!${name}${self.first}:${name}${self.last}"


class Book:
    """A workbook being written to `path`, as a context manager; it exists only after a successful exit.

    Rows are spooled in a folder beside the file until then.
    """

    def __init__(self, path: Path, title: str, created: dt.datetime) -> None:
        self._spool = tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.")
        self._book = xlsxwriter.Workbook(
            str(path),
            {
                "constant_memory": True,
                "tmpdir": self._spool.name,
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "strings_to_numbers": False,
            },
        )
        self._book.use_zip64()
        self._book.set_properties({"title": title, "created": created.replace(tzinfo=None)})
        self.looks = {name: self._book.add_format({**_FONT, **look}) for name, look in _LOOKS.items()}

    def __enter__(self) -> Self:
        return self

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

    def sheet(self, name: str) -> Sheet:
        """Add a sheet."""
        return Sheet(self, name, self._book.add_worksheet(name))


class Sheet:
    """A sheet written from the top down; `row` is the next one, from 0."""

    def __init__(self, book: Book, name: str, sheet: Any) -> None:
        self.name = name
        self.row = 0
        self._looks = book.looks
        self._sheet = sheet
        sheet.set_landscape()
        sheet.set_paper(9)  # A4
        sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        sheet.set_footer("&L&A&Cpage &P of &N&R&F")
        sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})

    def text(self, column: int, text: str, look: str = "text") -> None:
        """Write a text, never a formula, number or link."""
        if look in {"text", "prose", "label"} and text.startswith(_LIKE_A_FORMULA):
            look = "like a formula"
        if len(text) > _LONGEST // 2 and len(text.encode("utf-16-le")) // 2 > _LONGEST:
            text = text[: _LONGEST // 2] + "… (cut)"
        self._check(self._sheet.write_string(self.row, column, text, self._looks[look]), column)

    def formula(self, column: int, formula: str, value: Any, look: str) -> None:
        """Write a formula with its value."""
        self._check(self._sheet.write_formula(self.row, column, formula, self._looks[look], value), column)

    def cell(self, column: int, value: Any, kind: str) -> None:
        """Write a value of a listing; a null leaves the cell empty."""
        if value is None:
            return
        if kind in {"text", "prose", "id"}:
            self.text(column, str(value), kind)
        elif kind.startswith(("count", "amount")):
            self._check(self._sheet.write_number(self.row, column, value, self._looks[kind]), column)
        elif (value.date() if isinstance(value, dt.datetime) else value) < _FIRST_DAY:
            self.text(column, str(value))
        else:
            look = self._looks["day" if kind == "day" else "clock"]
            self._check(self._sheet.write_datetime(self.row, column, value, look), column)

    def line(self, values: Iterable[Any], columns: Sequence[Column]) -> None:
        """Write a row of a listing, followed by amounts beyond a double's precision as text."""
        exact = []
        values = list(values)
        row = {column.name: value for column, value in zip(columns, values, strict=True)}
        for number, (value, column) in enumerate(zip(values, columns, strict=True)):
            if column.kind == "prose" and value is not None and len(value) > _WIDTHS["prose"]:
                self.tall(1 + len(value) // (_WIDTHS["prose"] - 10))
            is_amount = column.kind == "amount"
            kind = amount_look(value, row.get("currency"), row.get("measure")) if is_amount else column.kind
            self.cell(number, value, kind)
            if column.kind == "amount" and is_long(value):
                exact.append(f"{column.name.replace('_', ' ')} {value:,f}")
        if exact:
            self.text(len(columns), "; ".join(exact))
        self.row += 1

    def tall(self, lines: int) -> None:
        """Make the row this many text lines high; call before writing into it."""
        self._sheet.set_row(self.row, lines * _LINE_HEIGHT + 3)

    def head(self, columns: Sequence[Column], *, has_long: bool) -> None:
        """Write the column names and set widths; repeat them, and the first columns, on every printed page."""
        self.tall(2)
        for number, column in enumerate(columns):
            look = "head right" if column.kind in {"count", "amount"} else "head"
            self.text(number, column.name.replace("_", " "), look)
            self._sheet.set_column(number, number, _WIDTHS_BY_NAME.get(column.name, _WIDTHS[column.kind]))
        if has_long:
            self.text(len(columns), EXACT, "head")
            self._sheet.set_column(len(columns), len(columns), 60)
        self._sheet.repeat_rows(self.row)
        is_wide = len(columns) > _PAGE_WIDE
        if is_wide:
            self._sheet.repeat_columns(0, 3)
        self._sheet.fit_to_pages(2 if is_wide else 1, 0)
        self.row += 1

    def widen(self, widths: Sequence[int]) -> None:
        """Set the widths of the first columns, in characters, and fit them to one printed page."""
        for number, width in enumerate(widths):
            self._sheet.set_column(number, number, width)
        self._sheet.fit_to_pages(1, 0)

    def freeze(self, columns: int, rows: int, width: int) -> None:
        """Freeze the rows above and the first columns, and add a filter over the next `rows` rows."""
        self._sheet.freeze_panes(self.row, columns)
        if rows:
            self._check(self._sheet.autofilter(self.row - 1, 0, self.row + rows - 1, width - 1), 0)

    def _check(self, code: int | None, column: int) -> None:
        """Raise WorkbookError if a write failed."""
        if code:
            cell = f"{xl_col_to_name(column)}{self.row + 1}"
            raise WorkbookError(f"sheet {self.name}, cell {cell} cannot be written (code {code}): a limit was exceeded")


def amount_look(value: Any, currency: str | None, measure: str | None = None) -> str:
    """Return the look of an amount in its currency; order_count, a measure, is a number of orders."""
    least = 0 if measure == "order_count" else digits(currency)
    return f"amount {1 if not least and value is not None and value % 1 else least}"


def is_long(amount: Any) -> bool:
    """Return whether an amount has more digits than a spreadsheet keeps."""
    if not isinstance(amount, Decimal) or -BEYOND < amount < BEYOND:
        return False
    return len(f"{abs(amount):f}".replace(".", "").strip("0")) > _DIGITS
