"""`ordermart reconcile`, and closed days in receipts, the reconciliation and the workbook."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import Selection, open_release
from pipelines.report.explain import receipt
from pipelines.report.finance_views import page_text, reconciliation_lines
from pipelines.report.identities import bridge
from pipelines.report.text import width
from pipelines.report.workbook import write_workbook
from tests.report.pages import Page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Workbook, World

RULE = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
BERLIN = """\
Reconciliation: all business days, store 4
  release RELEASE

Counted, EUR: 2 orders
  as sent: subtotal 51.00, delivery 4.00, tip 0.00, discount 0.00, loyalty
    discount 0.00, total 52.00
  lines 51.00, unallocated 0.00
  1 balanced, 1 break (1 total, 0 subtotal, 0 both), 0 indeterminate
  day         orders           total           lines unallocated breaks unposted
  2026-11-02       2           52.00           51.00        0.00      1        0
             residuals: total -3.00
  from lines to totals
    lines                                                   51.00
    subtotal                                                51.00
    delivery                                                +4.00
    residual                                                -3.00
    total                                                   52.00
    stated less parts: -3.00 = -5.882% of the subtotal less all discounts
      (51.00)

Rules, as all orders show them
  all orders: total = subtotal + delivery + tip - discount - loyalty discount:
    compatible, 6 of 9 fit; 11 more orders needed
  orders of [[formula.rule]] no. 1: subtotal: a line is its price by its
    quantity; modifiers count by their own quantity for each unit of the line,
    whatever their action; before the discount: configured, compatible, 9 of 10
    fit; 10 more orders needed

Possible duplicate orders: 1, see audit.possible_duplicate_orders.
Not balanced: 1 break.
Largest breaks, EUR: 22. See `ordermart explain order 22`.
"""


def printed(world: World, selection: Selection) -> list[str]:
    """Return the lines printed for a selection."""
    with open_release(world.settings) as release:
        reconciled = reconciliation(release, selection)
        return [line.replace(release.manifest.id, "RELEASE") for line in reconciliation_lines(reconciled)]


def test_break_is_printed_with_its_residual(world: World) -> None:
    """Price fields, lines, unallocated amount, and the break with its residual; exit 3."""
    assert "\n".join(printed(world, Selection(store_id=4))) + "\n" == BERLIN
    assert world.command("reconcile", "--store", "4").returncode == 3


def test_bridge_of_each_line_ties(world: World, tmp_path: Path, read_workbook: Callable[[Path], Workbook]) -> None:
    """In the text and in the workbook: lines and steps are the total, of each currency and sale class."""
    with open_release(world.settings) as release:
        reconciled = reconciliation(release, Selection())
        write_workbook(reconciled, tmp_path / "book.xlsx")
        for line in reconciled.lines():
            to_subtotal, to_total = bridge(reconciled, line)
            assert (line["line_amount"] or 0) + sum(to_subtotal.values()) == (line["subtotal_price"] or 0)
            assert (line["subtotal_price"] or 0) + sum(to_total.values()) == (line["total_price"] or 0)
    summary = read_workbook(tmp_path / "book.xlsx").sheets["summary"]
    (row,) = (place[1:] for place, cell in summary.items() if cell.value == "total less that of the days")
    ties = [cell for place, cell in summary.items() if place[1:] == row and cell.formula]
    assert ties
    assert {float(cell.value) for cell in ties} == {0}


def test_everything_fits_80_columns(world: World) -> None:
    """No line is wider than 80 columns, amounts of 18 digits included."""
    lines = printed(world, Selection())
    assert [line for line in lines if width(line) > 80] == []
    assert "             total 98,765,432,109,994.0569, lines 104.00, unallocated" in lines


def test_sale_classes_and_currencies_are_never_added(world: World) -> None:
    """Counted and excluded orders, and different currencies, have their own sections."""
    heads = [line for line in printed(world, Selection()) if line[:1].isupper() and line.endswith(("order", "orders"))]
    assert heads == [
        "Unmapped, >0: 1 order",
        "Counted, EUR: 2 orders",
        "Counted, USD: 7 orders",
        "Excluded, USD: 1 order",
    ]


def test_span_counts_undated_orders(world: World) -> None:
    """A limited span excludes orders without a business day, and prints how many."""
    lines = printed(world, Selection.between("2026-11-01", "2026-11-30"))
    assert "Not included: 1 order without a known business day." in lines
    assert not any(line.startswith("  no day") for line in lines)


@pytest.mark.slow
def test_indeterminate_orders_are_not_balanced(
    world_of: Callable[..., World],
    make_order: Callable[..., dict[str, Any]],
    read_workbook: Callable[[Path], Workbook],
    tmp_path: Path,
) -> None:
    """Without a rule for lines every order is indeterminate: the outcome says so, and the exit code is 3."""
    world = world_of(tmp_path / "indeterminate")
    world.land("orders", [make_order(1)])
    world.publish()
    book, page = tmp_path / "book.xlsx", tmp_path / "page.html"
    done = world.command("reconcile", "--xlsx", str(book), "--html", str(page))
    outcome = "Not balanced: 1 indeterminate order"
    assert (done.returncode, done.stderr) == (3, "")
    assert f"{outcome}.\n" in done.stdout
    assert outcome in {cell.value for cell in read_workbook(book).sheets["summary"].values()}
    assert f"</span> {outcome}</p>" in page.read_text("utf-8")
    assert not any("Balanced" in text for text in (done.stdout, page.read_text("utf-8")))


def test_files_are_written_and_named(world: World, tmp_path: Path) -> None:
    """The workbook and the page are complete, named in the output, and do not change the exit code."""
    book, page = tmp_path / "book.xlsx", tmp_path / "page.html"
    done = world.command("reconcile", "--xlsx", str(book), "--html", str(page), "--all-orders")
    assert done.returncode == 3, done.stderr
    assert f"Workbook: {book}\nPage: {page}\n" in done.stdout
    assert book.read_bytes().startswith(b"PK")
    assert page.read_text("utf-8").rstrip().endswith("</html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.xlsx", "page.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "2026-13-01"], "--from: '2026-13-01' is not a valid day; use 2026-10-31"),
        (["--from", "2026-11-02", "--to", "2026-11-01"], "--from 2026-11-02 is after --to 2026-11-01"),
        (["--all-orders"], "--xlsx FILE"),
        (["--store", "four"], "store"),
    ],
)
def test_invalid_usage_exits_2(world: World, arguments: list[str], message: str) -> None:
    """An invalid date, a reversed range, an option without its file."""
    done = world.command("reconcile", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_missing_release_or_folder_exits_1(world: World, tmp_path: Path) -> None:
    """Without a release, or with a missing folder, the command prints one sentence."""
    none = world.command("reconcile", ORDERMART_DATA__DIR=str(tmp_path / "empty"))
    assert (none.returncode, none.stderr.count("\n")) == (1, 1)
    lost = world.command("reconcile", "--xlsx", str(tmp_path / "no" / "book.xlsx"))
    assert (lost.returncode, lost.stderr.count("\n")) == (1, 1)
    assert "book.xlsx cannot be written" in lost.stderr


@pytest.mark.slow
def test_control_total_variance_exits_3(
    world_of: Callable[..., World], make_order: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Balanced orders that do not tie to a control total exit 3 until they do."""
    world = world_of(
        tmp_path / "totals", '[sales]\ncounted_statuses = ["delivered"]\n[formula]\nsubtotal_rule = "' + RULE + '"\n'
    )
    world.land("orders", [make_order(1)])
    world.publish()
    assert world.command("reconcile").returncode == 0
    for amount, code in (("27.51", 3), ("27.50", 0)):
        file = tmp_path / "totals.csv"
        header = "business_date,store_id,order_count,amount,amount_field,sale_classes"
        file.write_text(f"{header}\n2026-11-01,3,1,{amount},total_price,counted\n", encoding="utf-8")
        assert world.command("totals", "import", str(file)).returncode == 0
        world.publish()
        done = world.command("reconcile")
        assert (done.returncode, "1 control total variance" in done.stdout) == (code, code == 3), done.stdout
        named = "2026-11-01 store 3 total_price (counted): 27.51 stated, 27.50 actual"
        assert (named in " ".join(done.stdout.split())) == (code == 3)


@pytest.mark.slow
def test_a_closed_day_that_all_orders_left_is_printed(
    world_of: Callable[..., World], make_order: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Such a day has no order, and its unposted restatements are counted on it; also when it is selected alone."""
    world = world_of(tmp_path / "left", '[sales]\ncounted_statuses = ["delivered"]\n')
    world.land("orders", [make_order(1), make_order(2, created_at="2026-11-03T12:00:00Z")])
    world.publish()
    assert world.command("close", "2026-11-01", "--with-exceptions", "a test").returncode == 0
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
    world.land("orders", [make_order(1, created_at="2026-11-03T12:00:00Z")], later)
    world.publish()
    ((count,),) = world.all("select count(*) from mart.restatements where closed_business_date = '2026-11-01'")
    empty = f"  2026-11-01       0            0.00            0.00        0.00      0 {count:>8}"
    lines = printed(world, Selection())
    assert count > 0
    assert lines[lines.index(empty) + 1].startswith("  2026-11-03       2           55.00")
    lines = printed(world, Selection.between("2026-11-01", "2026-11-01"))
    assert "Counted, currency not stated: 0 orders" in lines
    assert empty in lines
    assert f"Not balanced: {count} unposted restatements." in lines


def test_nothing_selected_is_not_balanced(world: World) -> None:
    """A store or a span without orders ends with 3 and says so, never with "balanced"."""
    for arguments in (("--store", "99999"), ("--from", "1999-01-01", "--to", "1999-01-02")):
        done = world.command("reconcile", *arguments)
        assert done.returncode == 3, done.stdout
        assert "Nothing to reconcile: no order is selected" in done.stdout
        assert "alanced" not in done.stdout


def told(world: World, order_id: int) -> str:
    """Return a receipt as one text, its lines joined."""
    with world.open() as db:
        return re.sub(r"\n {4}", " ", "\n".join(receipt(db, order_id)))


@pytest.mark.slow
def test_a_receipt_shows_the_close_and_restatements(closed_world: World) -> None:
    """The close of its day, and each restated measure with its amounts and cause."""
    changed = told(closed_world, 1)
    assert re.search(r"business day 2026-11-01 of this store is closed: ledger entry \d+, 20", changed)
    assert re.search(
        r"tip of 2026-11-01 \(counted\), at close 0\.00, now 3\.00, restated by 3\.00; source_changed, .*, unposted",
        changed,
    )
    assert "late_arriving" in told(closed_world, 3)
    untouched = told(closed_world, 2)
    assert "restatement" not in untouched
    assert "is closed" in untouched


@pytest.mark.slow
def test_unposted_restatements_are_variances(closed_world: World) -> None:
    """Orders that all balance are not balanced while a closed day has unposted restatements: exit 3."""
    with open_release(closed_world.settings) as release:
        lines = list(reconciliation_lines(reconciliation(release, Selection())))
        number = release.con.execute("select count(*) from mart.restatements").fetchone()
    assert number is not None
    assert f"Not balanced: {number[0]} unposted restatements." in lines
    day = next(line for line in lines if line.startswith("  2026-11-01"))
    assert day.split()[-2:] == ["0", str(number[0])]
    assert closed_world.command("reconcile").returncode == 3
    before = closed_world.command("reconcile", "--to", "2026-10-31")
    assert "unposted" not in before.stdout
    assert "no order is selected" in before.stdout


@pytest.mark.slow
def test_the_workbook_adds_up_what_is_open(
    closed_world: World, tmp_path: Path, read_workbook: Callable[[Path], Workbook]
) -> None:
    """Each restatement is a row, and the summary has live sums of the open ones by part."""
    path = tmp_path / "book.xlsx"
    with open_release(closed_world.settings) as release:
        write_workbook(reconciliation(release, Selection()), path)
    book = read_workbook(path)
    rows = book.rows("restatements")
    tip = next(row for row in rows if row["measure"].value == "tip" and row["order_id"].value == "1")
    assert (tip["restatement_amount"].value, tip["state"].value, tip["timezone"].value) == (
        "3.0000",
        "unposted",
        "America/New_York",
    )
    assert tip["restatement_no"].is_text
    cells = book.sheets["summary"]
    row = next(place[1:] for place, cell in cells.items() if cell.value == "tip" and f"F{place[1:]}" in cells)
    assert (cells[f"F{row}"].formula or "").startswith("SUMIFS('restatements'!")
    assert Decimal(cells[f"F{row}"].value) == 3


@pytest.mark.slow
def test_restatements_are_not_added_across_sale_classes(
    world_of: Callable[..., World],
    make_order: Callable[..., dict[str, Any]],
    read_workbook: Callable[[Path], Workbook],
    tmp_path: Path,
) -> None:
    """Text, page and workbook sum an order that left a class for another in each, as `restatements list` does."""
    world = world_of(tmp_path / "classes", '[sales]\ncounted_statuses = ["delivered"]\n[finance]\ncurrency = "EUR"\n')
    world.land("orders", [make_order(1), make_order(2)])
    world.publish()
    assert world.command("close", "2026-11-01", "--with-exceptions", "a test").returncode == 0
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
    changed = [make_order(1, status="new"), make_order(2, tip=3, total_price=30.5)]
    world.land("orders", changed, later)
    world.publish()
    with open_release(world.settings) as release:
        reconciled = reconciliation(release, Selection())
        lines, rows = list(reconciliation_lines(reconciled)), reconciled.unposted_restatements()
        page = Page(page_text(reconciled))
        write_workbook(reconciled, tmp_path / "book.xlsx")
    listed = re.findall(r"^  \w+ +(\w+) +([+-][\d.]+) EUR$", world.command("restatements", "list").stdout, re.MULTILINE)
    sums: dict[str, Decimal] = {}
    for sale_class, amount in listed:
        sums[sale_class] = sums.get(sale_class, Decimal(0)) + Decimal(amount)
    assert sums == {"counted": Decimal("-24.50"), "unmapped": Decimal("27.50")}
    assert {row["sale_class"]: row["restatement_amount"] for row in rows if row["measure"] == "total_price"} == sums
    assert "Unposted, counted, EUR: total_price -24.50 in 2 restatements" in lines
    shown = [row for table in page.tables for row in table if row[1:2] == ["total price"] and row[0] in sums]
    assert shown == [["counted", "total price", "2", "-24.50"], ["unmapped", "total price", "1", "+27.50"]]
    cells = read_workbook(tmp_path / "book.xlsx").sheets["summary"]
    found = {cells[f"B{at[1:]}"].value: cells[f"F{at[1:]}"] for at, cell in cells.items()
             if cell.value == "total price" and f"F{at[1:]}" in cells}  # fmt: skip
    assert {name: Decimal(cell.value) for name, cell in found.items()} == sums
    assert all((cell.formula or "").startswith("SUMIFS('restatements'!") for cell in found.values())


@pytest.mark.slow
def test_a_posted_restatement_is_not_a_variance(closed_world: World, tmp_path: Path) -> None:
    """Posted to a period and published again, the same orders are balanced: exit 0."""
    import shutil  # noqa: PLC0415 -- used here alone

    copy = tmp_path / "copy"
    shutil.copytree(closed_world.folder, copy, symlinks=True)
    world = type(closed_world).at(copy)
    assert world.command("restatements", "post", "--period", "2026-11").returncode == 0
    world.publish()
    done = world.command("reconcile")
    assert (done.returncode, "Balanced: no variances." in done.stdout) == (0, True), done.stdout
    assert "posted to 2026-11" in told(world, 1)
