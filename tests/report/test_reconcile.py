"""`ordermart reconcile`: what it prints, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance.reconciliation import Selection, reconciliation
from pipelines.finance.released import released
from pipelines.report.reconciliation import reconciliation_lines
from pipelines.report.text import width

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
  lines amount to 51.00, not on any line 0.00
  1 balanced, 1 off (1 in the total, 0 in the lines, 0 in both), 0 cannot be
    told
  day         orders           total           lines  unallocated breaks  open
  2026-11-02       2           52.00           51.00         0.00      1     0
             residuals: totals -3.00

Orders that may repeat another: 1, see audit.possible_duplicate_orders.
Variances: breaks: 1.
Off by most: 22. Look next: `ordermart explain order 22`.
"""


def told(world: World, selection: Selection) -> list[str]:
    """Return what is printed of a selection."""
    with released(world.settings) as release:
        reconciled = reconciliation(release, selection)
        return [line.replace(release.manifest.id, "RELEASE") for line in reconciliation_lines(reconciled)]


def test_a_store_with_a_break(world: World) -> None:
    """Parts, lines, what is on no line, and the break with its residual; exit 3."""
    assert "\n".join(told(world, Selection(store_id=4))) + "\n" == BERLIN
    assert world.command("reconcile", "--store", "4").returncode == 3


def test_everything_fits_80_columns(world: World) -> None:
    """No line is wider than 80 columns, amounts of 18 digits included."""
    lines = told(world, Selection())
    assert [line for line in lines if width(line) > 80] == []
    assert "             total 98,765,432,109,994.0569, lines 104.00, unallocated" in lines


def test_sale_classes_and_currencies_stand_apart(world: World) -> None:
    """Counted and excluded orders, and two currencies, are never added."""
    heads = [line for line in told(world, Selection()) if line[:1].isupper() and line.endswith(("order", "orders"))]
    assert heads == [
        "Unmapped, >0: 1 order",
        "Counted, EUR: 2 orders",
        "Counted, USD: 7 orders",
        "Excluded, USD: 1 order",
    ]


def test_a_span_says_which_orders_it_cannot_hold(world: World) -> None:
    """Orders without a business day are in no span, and it is said how many they are."""
    lines = told(world, Selection.between("2026-11-01", "2026-11-30"))
    assert "Orders in no span of days, as their business day is not known: 1." in lines
    assert not any(line.startswith("  no day") for line in lines)


def test_a_balanced_selection_ends_with_0(world: World) -> None:
    """Nothing off: exit 0; an empty one is balanced too, and says that it is empty."""
    empty = world.command("reconcile", "--from", "2026-12-01", "--store", "4")
    assert (empty.returncode, empty.stderr) == (0, "")
    assert "There is no order there." in empty.stdout
    assert "Balanced: no variances." in empty.stdout


def test_what_cannot_be_told_is_not_called_balanced(
    world_of: Callable[..., World],
    make_order: Callable[..., dict[str, Any]],
    read_workbook: Callable[[Path], Workbook],
    tmp_path: Path,
) -> None:
    """Without a rule for lines no order is balanced: nothing is known to be off, it is said so, and the exit is 3."""
    world = world_of(tmp_path / "untold")
    world.land("orders", [make_order(1)])
    world.publish()
    book, page = tmp_path / "book.xlsx", tmp_path / "page.html"
    done = world.command("reconcile", "--xlsx", str(book), "--html", str(page))
    said = "No variances, but orders that cannot be told: 1"
    assert (done.returncode, done.stderr) == (3, "")
    assert f"{said}.\n" in done.stdout
    assert said in {cell.value for cell in read_workbook(book).sheets["summary"].values()}
    assert f'<p class="bad">{said}</p>' in page.read_text("utf-8")
    assert not any("Balanced" in each for each in (done.stdout, page.read_text("utf-8")))


def test_files_are_written_beside_what_is_printed(world: World, tmp_path: Path) -> None:
    """The workbook and the page are whole, named, and change no exit code."""
    book, page = tmp_path / "book.xlsx", tmp_path / "page.html"
    done = world.command("reconcile", "--xlsx", str(book), "--html", str(page), "--all-orders")
    assert done.returncode == 3, done.stderr
    assert f"Workbook: {book}\nPage: {page}\n" in done.stdout
    assert book.read_bytes().startswith(b"PK")
    assert page.read_text("utf-8").rstrip().endswith("</html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.xlsx", "page.html"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "2026-13-01"], "--from 2026-13-01 is no day"),
        (["--from", "2026-11-02", "--to", "2026-11-01"], "turn the two round"),
        (["--all-orders"], "--xlsx FILE"),
        (["--store", "four"], "store"),
    ],
)
def test_wrong_usage_ends_with_2(world: World, arguments: list[str], said: str) -> None:
    """A day that is none, days turned round, an option without its file."""
    done = world.command("reconcile", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_what_cannot_be_done_ends_with_1(world: World, tmp_path: Path) -> None:
    """No release, or a folder that is not there: one sentence."""
    none = world.command("reconcile", ORDERMART_DATA__DIR=str(tmp_path / "empty"))
    assert (none.returncode, none.stderr.count("\n")) == (1, 1)
    lost = world.command("reconcile", "--xlsx", str(tmp_path / "no" / "book.xlsx"))
    assert (lost.returncode, lost.stderr.count("\n")) == (1, 1)
    assert "book.xlsx cannot be written" in lost.stderr


@pytest.mark.slow
def test_a_control_total_that_differs_is_a_variance(
    world_of: Callable[..., World], make_order: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Orders that all balance, but come to other than finance's own total: exit 3 until the totals agree."""
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
        assert (done.returncode, "control totals that differ: 1" in done.stdout) == (code, code == 3), done.stdout
