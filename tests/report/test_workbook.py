"""The workbook of a reconciliation, read back from its own XML."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import FinanceError, Selection, open_release
from pipelines.ledger import HEADER, import_totals, ledger_of
from pipelines.report.finance_views import ReportFileError
from pipelines.report.workbook import EXACT, MOST_ROWS, Book, WorkbookError, is_long, write_workbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Workbook, World

SETTINGS = """
[sales]
counted_statuses = ["delivered"]

[formula]
subtotal_rule = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
"""
IN_FULL = EXACT.replace(" ", "_")
AMOUNTS = "subtotal_price delivery_price tip total_price line_amount unallocated_amount total_residual".split()


def written(
    world: World,
    path: Path,
    selection: Selection | None = None,
    *,
    all_orders: bool = False,
    most_rows: int = MOST_ROWS,
) -> Path:
    """Write a workbook of the world and return where it is."""
    with open_release(world.settings) as release:
        reconciled = reconciliation(release, selection or Selection())
        write_workbook(reconciled, path, all_orders=all_orders, most_rows=most_rows)
    return path


@pytest.fixture(scope="module")
def book(world: World, tmp_path_factory: pytest.TempPathFactory, read_workbook: Callable[[Path], Workbook]) -> Workbook:
    """Write the whole world once, with every order."""
    return read_workbook(written(world, tmp_path_factory.mktemp("book") / "book.xlsx", all_orders=True))


def test_sheets_are_those_requested(
    world: World, book: Workbook, tmp_path: Path, read_workbook: Callable[[Path], Workbook]
) -> None:
    """Only breaks are listed, unless all orders are requested."""
    assert list(book.sheets) == ["summary", "days", "breaks", "orders", "restatements", "evidence"]
    plain = read_workbook(written(world, tmp_path / "plain.xlsx"))
    assert list(plain.sheets) == ["summary", "days", "breaks", "restatements", "evidence"]
    assert [row["order_id"].value for row in book.rows("breaks")] == ["13", "14", "51", "22"]
    orders = {row["order_id"].value for row in book.rows("orders")}
    assert orders == {str(order_id) for (order_id,) in world.all("select order_id from mart.orders")}


def test_totals_are_formulas_with_stored_values(world: World, book: Workbook) -> None:
    """Each figure of the summary is a formula over the rows, and its stored value is the database's, to the digit."""
    expected = world.all(
        "select coalesce(currency, 'not stated'), sale_class, sum(order_count), "
        + ", ".join(f"coalesce(sum({name}), 0)" for name in AMOUNTS)
        + " from mart.daily_reconciliations group by currency, sale_class order by currency nulls last, sale_class"
    )
    lines = book.summary()
    assert [
        (
            line["currency"].value,
            line["sale class"].value,
            int(line["order count"].value),
            *(Decimal(line[name.replace("_", " ")].value) for name in AMOUNTS),
        )
        for line in lines
    ] == expected
    for line in lines:
        figures = [line[name.replace("_", " ")].formula for name in ("order_count", *AMOUNTS)]
        assert all(formula is not None and formula.startswith("SUMIFS('days'!") for formula in figures)


def test_checks_are_zero(book: Workbook) -> None:
    """Lines and unallocated amounts equal subtotals, and listed breaks equal counted ones: live formulas, all zero."""
    ties = [cell for line in book.summary() for label, cell in line.items() if " less " in label]
    assert len(ties) == 5 * len(book.summary())
    assert all(cell.formula for cell in ties)
    assert {Decimal(cell.value) for cell in ties} == {0}


def test_ids_are_text_and_amounts_are_numbers(book: Workbook) -> None:
    """An id is text; an amount is a number that shows up to four decimals."""
    (row,) = (each for each in book.rows("breaks") if each["order_id"].value == "51")
    assert (row["order_id"].is_text, row["store_id"].is_text) == (True, True)
    assert (row["total_price"].is_text, row["total_price"].value) == (False, "27.4999")
    styles = book.parts["xl/styles.xml"]
    number_format = re.findall(r"<xf [^>]*numFmtId=\"(\d+)\"", styles.partition("<cellXfs")[2])
    assert f'numFmtId="{number_format[row["total_price"].style]}" formatCode="#,##0.00##;[Red]-#,##0.00##"' in styles


@pytest.fixture(scope="module")
def abroad(
    world_of: Callable[..., World], make_order: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> World:
    """Publish an order in JPY and one in KWD, and a control total of each that differs."""
    made = world_of(tmp_path_factory.mktemp("abroad"), SETTINGS)
    codes = {3: "JPY", 4: "KWD"}
    made.land(
        "stores", [{"id": each, "name": "S", "timezone": "UTC", "currency": code} for each, code in codes.items()]
    )
    made.land("orders", [make_order(1), make_order(2, store_id=4, total_price=28.71)])
    file = made.folder / "totals.csv"
    totals = [f"2026-11-01,{store},1,{amount},total_price,counted" for store, amount in ((3, 40), (4, "1.21"))]
    file.write_text("\n".join([",".join(HEADER), *totals]), encoding="utf-8")
    import_totals(ledger_of(made.settings.data_dir), file)
    made.publish()
    return made


@pytest.mark.slow
def test_evidence_has_the_digits_of_its_currency(
    abroad: World, tmp_path: Path, read_workbook: Callable[[Path], Workbook]
) -> None:
    """Amounts of control totals and statuses are numbers beside their currency, with its digits."""
    book = read_workbook(written(abroad, tmp_path / "abroad.xlsx"))
    styles = book.parts["xl/styles.xml"]
    codes = dict(re.findall(r'numFmtId="(\d+)" formatCode="([^;"]*);', styles))
    formats = re.findall(r'<xf [^>]*numFmtId="(\d+)"', styles.partition("<cellXfs")[2])
    shown = {
        (row["section"].value, row["currency"].value): [
            (Decimal(row[name].value), codes[formats[row[name].style]])
            for name in ("control_amount", "actual_amount", "amount")
            if name in row
        ]
        for row in book.rows("evidence")
        if "currency" in row
    }
    three = "#,##0.000#"
    assert shown == {
        ("control total", "JPY"): [
            (Decimal(40), "#,##0"),
            (Decimal("27.5"), "#,##0.0###"),
            (Decimal("-12.5"), "#,##0.0###"),
        ],
        ("control total", "KWD"): [(Decimal("1.21"), three), (Decimal("28.71"), three), (Decimal("27.5"), three)],
        ("statuses, all days", "JPY"): [(Decimal("27.5"), "#,##0.0###")],
        ("statuses, all days", "KWD"): [(Decimal("28.71"), three)],
    }


@pytest.mark.slow
def test_failed_checks_store_what_their_formulas_give(
    abroad: World, tmp_path: Path, read_workbook: Callable[[Path], Workbook]
) -> None:
    """A difference of a thousandth of a KWD is not rounded away, and is the value stored beside the formula."""
    shutil.copytree(abroad.folder, tmp_path / "faulty", symlinks=True)
    faulty = type(abroad).at(tmp_path / "faulty")
    with duckdb.connect(str(faulty.settings.data_dir / "published" / "current" / "ordermart.duckdb")) as db:
        db.execute(
            "update mart.daily_reconciliations set line_amount = line_amount + 0.001, break_count = break_count + 1, "
            "total_residual = total_residual + 2 where store_id = 4"
        )
    yen, dinar = read_workbook(written(faulty, tmp_path / "faulty.xlsx")).summary()
    ties = {label: cell for label, cell in dinar.items() if " less " in label}
    assert [Decimal(cell.value) for cell in ties.values()] == [*[Decimal("0.001")] * 2, 1, 2, 0]
    assert [cell.formula.rpartition(",")[2] for cell in ties.values()] == ["3)"] * 5
    assert {Decimal(cell.value) for label, cell in yen.items() if " less " in label} == {0}


def test_times_are_local_with_the_zone_named(book: Workbook) -> None:
    """A time is the store's local time, beside its time zone; a day is a date."""
    (row,) = (each for each in book.rows("orders") if each["order_id"].value == "21")
    midnight = (dt.datetime(2026, 11, 2) - dt.datetime(1899, 12, 30)).days  # noqa: DTZ001 -- a clock in a sheet has no zone
    assert Decimal(row["created_at_local"].value).quantize(Decimal("0.0001")) == midnight + Decimal("0.0208")
    assert row["timezone"].value == "Europe/Berlin"
    assert row["business_date"].value == str(midnight)


def test_amounts_beyond_15_digits_are_also_text(book: Workbook) -> None:
    """What a double cannot hold is written in full beside it: in the row, by day, and in the summary."""
    (row,) = (each for each in book.rows("orders") if each["order_id"].value == "31")
    assert row["total_price"].value == "98765432109876.55"
    assert "total price 98,765,432,109,876.5469" in row[IN_FULL].value
    assert any("98,765,432,109,994.0569" in each[IN_FULL].value for each in book.rows("days") if IN_FULL in each)
    assert book.summary()[2][f"total price: {EXACT}"].value == "98,765,432,110,021.5569"
    assert [is_long(Decimal(each)) for each in ("0.0001", "99999999999.9999", "123456789012.3456", "1e20")] == [
        False,
        False,
        True,
        False,
    ]


def test_text_that_looks_like_a_formula_stays_text(book: Workbook) -> None:
    """Names and statuses that begin like a formula are text cells, marked as such; only totals are formulas."""
    hostile = {"=2+2", "@SUM(1+1)*cmd|' /C calc'!A0"}
    styles = re.findall(r"<xf [^>]*>", book.parts["xl/styles.xml"].partition("<cellXfs")[2])
    found = [cell for cells in book.sheets.values() for cell in cells.values() if cell.value in hostile]
    assert {cell.value for cell in found} == hostile
    assert all(cell.is_text and cell.formula is None and 'quotePrefix="1"' in styles[cell.style] for cell in found)
    formulas = {cell.formula for cells in book.sheets.values() for cell in cells.values() if cell.formula}
    assert all(re.match(r"(SUM|SUMIFS|COUNTIFS|SUBTOTAL|ROUND)\(", formula) for formula in formulas)
    assert not any("hyperlink" in part for part in book.parts.values())


def test_workbook_has_no_personal_data(book: Workbook, canaries: tuple[str, ...]) -> None:
    """No part of the file holds a personal value."""
    assert [canary for canary in canaries for part in book.parts.values() if canary in part] == []


def test_one_currency_has_totals_of_visible_rows(
    world: World, book: Workbook, tmp_path: Path, read_workbook: Callable[[Path], Workbook]
) -> None:
    """Sums above the rows follow a filter; there are none if they would add currencies."""
    berlin = read_workbook(written(world, tmp_path / "berlin.xlsx", Selection(store_id=4)))
    totals = [cell for place, cell in berlin.sheets["days"].items() if place.endswith("3") and cell.formula]
    assert any(cell.formula == "SUBTOTAL(109,'days'!$S$5:$S$5)" and cell.value == "52.0000" for cell in totals)
    assert not any(cell.formula for place, cell in book.sheets["days"].items() if place.endswith("3"))


def test_empty_selection_gives_a_workbook(
    world: World, tmp_path: Path, read_workbook: Callable[[Path], Workbook]
) -> None:
    """Without orders there is nothing to add, and the workbook does not call that balanced."""
    empty = read_workbook(written(world, tmp_path / "empty.xlsx", Selection(store_id=99)))
    said = [cell.value for cell in empty.sheets["summary"].values()]
    assert any("no order is selected" in value for value in said)
    assert not any("Balanced" in value for value in said)


def test_row_beyond_the_limit_raises(tmp_path: Path) -> None:
    """A row beyond the sheet's limit fails the workbook; it is not dropped silently."""
    with Book(tmp_path / "x.xlsx", "x", dt.datetime(2026, 11, 1, tzinfo=dt.UTC)) as book:
        sheet = book.sheet("days")
        sheet.text(0, "=" + "x" * 40_000)  # cut, not refused
        sheet.row = 1_048_576
        with pytest.raises(FinanceError, match="sheet days, cell A1048577"):
            sheet.text(0, "too far")


def test_failed_write_keeps_the_old_file(world: World, tmp_path: Path) -> None:
    """A missing folder is reported in one sentence; a listing too long keeps the old file and leaves no draft."""
    with pytest.raises(ReportFileError, match="No such file"):
        written(world, tmp_path / "none" / "x.xlsx")
    old = tmp_path / "old.xlsx"
    old.write_bytes(b"old")
    with pytest.raises(WorkbookError, match="days: 5 rows, of 4 that a sheet takes: choose fewer days with --from"):
        written(world, old, most_rows=4)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old.xlsx", b"old")]
