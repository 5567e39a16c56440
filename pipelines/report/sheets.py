"""Sheets of a workbook, written row by row in little memory: every write is held to its return code.

Knows what a cell may hold (text stays text, ids are text, amounts keep their decimals), not what the figures mean.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import xlsxwriter
from xlsxwriter.utility import xl_col_to_name

from pipelines.finance.released import FinanceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pipelines.report.listings import Column

ROWS_A_SHEET = 1_000_000  # a sheet has room for 1,048,576; the rest is for headings
EXACT = "amounts in full"  # the column of text for amounts that a spreadsheet's 15 digits cannot hold
_DIGITS = 15
BEYOND = Decimal(10) ** 11  # below it an amount of four decimals has no more digits than that
_LONGEST = 32_000  # signs of a cell's text; a sheet takes 32,767
_LIKE_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FIRST_DAY = dt.date(1900, 3, 1)  # before it spreadsheets disagree about the calendar
_FONT = {"font_name": "Calibri", "font_size": 10, "valign": "top"}
_AMOUNT = "#,##0.00##;[Red]-#,##0.00##"
_HEAD = {"bold": True, "bg_color": "#E7ECF2", "text_wrap": True}
_LOOKS: dict[str, dict[str, Any]] = {
    "text": {"indent": 1},
    "like a formula": {"indent": 1, "quote_prefix": True},
    "prose": {"indent": 1, "text_wrap": True},
    "id": {"indent": 1, "num_format": "@"},
    "count": {"num_format": "#,##0"},
    "amount": {"num_format": _AMOUNT},
    "day": {"indent": 1, "num_format": "yyyy-mm-dd", "align": "left"},
    "clock": {"indent": 1, "num_format": "yyyy-mm-dd hh:mm:ss", "align": "left"},
    "title": {"bold": True, "font_size": 14},
    "strong": {"bold": True},
    "note": {"italic": True, "font_color": "#555555"},
    "label": {},
    "head": {**_HEAD, "indent": 1},
    "head right": {**_HEAD, "align": "right"},
    "total count": {"num_format": "#,##0", "bold": True},
    "total amount": {"num_format": _AMOUNT, "bold": True},
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
_PAGE_WIDE = 14  # columns that are still read when printed on one page
_LINE_HEIGHT = 13


class WorkbookError(FinanceError):
    """The workbook cannot be written; the message says what and where."""


@dataclass(frozen=True)
class Page:
    """The rows of one sheet of a listing: its name, and its first and last row as a spreadsheet counts them."""

    sheet: str
    first: int
    last: int

    def range(self, column: int) -> str:
        """Return the reference to a column's cells, fixed in place; there is at least one row."""
        name = xl_col_to_name(column)
        return f"'{self.sheet}'!${name}${self.first}:${name}${self.last}"


class Book:
    """A workbook under way at `path`, as a context: left without an error the file is whole, else it is not there.

    What a sheet holds waits in a folder beside the file until then.
    """

    def __init__(self, path: Path, title: str, created: dt.datetime) -> None:
        self._waiting = tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.")
        self._book = xlsxwriter.Workbook(
            str(path),
            {
                "constant_memory": True,
                "tmpdir": self._waiting.name,
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
            self._waiting.cleanup()

    def sheet(self, name: str) -> Sheet:
        """Add a sheet."""
        return Sheet(self, name, self._book.add_worksheet(name))


class Sheet:
    """A sheet that is written from the top down; `row` is the next one, from 0."""

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
        """Write a text, which stays one whatever it looks like."""
        if look in {"text", "prose", "label"} and text.startswith(_LIKE_A_FORMULA):
            look = "like a formula"
        if len(text) > _LONGEST // 2 and len(text.encode("utf-16-le")) // 2 > _LONGEST:
            text = text[: _LONGEST // 2] + "… (cut)"
        self._held(self._sheet.write_string(self.row, column, text, self._looks[look]), column)

    def formula(self, column: int, formula: str, value: Any, look: str) -> None:
        """Write a formula with the value that it has."""
        self._held(self._sheet.write_formula(self.row, column, formula, self._looks[look], value), column)

    def cell(self, column: int, value: Any, kind: str) -> None:
        """Write a value of a listing; a null leaves the cell empty."""
        if value is None:
            return
        if kind in {"text", "prose", "id"}:
            self.text(column, str(value), kind)
        elif kind in {"count", "amount"}:
            self._held(self._sheet.write_number(self.row, column, value, self._looks[kind]), column)
        else:
            self._time(column, value, "day" if kind == "day" else "clock")

    def line(self, values: Iterable[Any], columns: Sequence[Column]) -> None:
        """Write a row of a listing, with the amounts that a spreadsheet cannot hold in full as text behind it."""
        exact = []
        for number, (value, column) in enumerate(zip(values, columns, strict=True)):
            if column.kind == "prose" and value is not None and len(value) > _WIDTHS["prose"]:
                self.tall(1 + len(value) // (_WIDTHS["prose"] - 10))
            self.cell(number, value, column.kind)
            if column.kind == "amount" and is_long(value):
                exact.append(f"{column.name.replace('_', ' ')} {value:,f}")
        if exact:
            self.text(len(columns), "; ".join(exact))
        self.row += 1

    def tall(self, lines: int) -> None:
        """Make the row as tall as so many lines of text; before anything is written into it."""
        self._sheet.set_row(self.row, lines * _LINE_HEIGHT + 3)

    def head(self, columns: Sequence[Column], *, has_long: bool) -> None:
        """Write the names of the columns, and set how wide they are; print them, and the first ones, on every page."""
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
        """Set how wide the first columns are, in signs, and print them on one page."""
        for number, width in enumerate(widths):
            self._sheet.set_column(number, number, width)
        self._sheet.fit_to_pages(1, 0)

    def hold(self, columns: int, rows: int, width: int) -> None:
        """Keep the rows above and the first columns in sight, and offer a filter over the next `rows` rows."""
        self._sheet.freeze_panes(self.row, columns)
        if rows:
            self._held(self._sheet.autofilter(self.row - 1, 0, self.row + rows - 1, width - 1), 0)

    def _time(self, column: int, value: dt.date, look: str) -> None:
        day = value.date() if isinstance(value, dt.datetime) else value
        if day < _FIRST_DAY:
            self.text(column, str(value))
        else:
            self._held(self._sheet.write_datetime(self.row, column, value, self._looks[look]), column)

    def _held(self, code: int | None, column: int) -> None:
        """Raise WorkbookError unless a write went well."""
        if code:
            place = f"{xl_col_to_name(column)}{self.row + 1}"
            raise WorkbookError(f"sheet {self.name}, cell {place} cannot be written (code {code}): a limit was passed")


def is_long(amount: Any) -> bool:
    """Tell whether an amount has more digits than a spreadsheet keeps."""
    if not isinstance(amount, Decimal) or -BEYOND < amount < BEYOND:
        return False
    return len(f"{abs(amount):f}".replace(".", "").strip("0")) > _DIGITS


def sum_where(pages: Sequence[Page], column: int, condition: str) -> str:
    """Return the terms of the formula that add up a column over all pages where their first column equals a cell."""
    return _added([f"SUMIFS({page.range(column)},{page.range(0)},{condition})" for page in pages])


def count_where(pages: Sequence[Page], condition: str) -> str:
    """Return the terms of the formula that count the rows of all pages whose first column equals a cell."""
    return _added([f"COUNTIFS({page.range(0)},{condition})" for page in pages])


def shown(pages: Sequence[Page], column: int) -> str:
    """Return the terms of the formula that add up a column over all pages, what a filter hides left out."""
    return _added([f"SUBTOTAL(109,{page.range(column)})" for page in pages])


def _added(terms: Sequence[str]) -> str:
    return "+".join(terms) or "0"
