"""Closed days in receipts, the reconciliation and the workbook."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import released
from pipelines.finance.selection import Selection
from pipelines.report.explain import receipt
from pipelines.report.reconciliation import reconciliation_lines
from pipelines.report.workbook import write_workbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Workbook, World

pytestmark = pytest.mark.slow  # whole builds, closes and changes


def told(world: World, order_id: int) -> str:
    """Return a receipt as one text, its lines joined."""
    with world.open() as db:
        return re.sub(r"\n {4}", " ", "\n".join(receipt(db, order_id)))


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


def test_unposted_restatements_are_variances(closed_world: World) -> None:
    """Orders that all balance are not balanced while a closed day has unposted restatements: exit 3."""
    with released(closed_world.settings) as release:
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


def test_the_workbook_adds_up_what_is_open(
    closed_world: World, tmp_path: Path, read_workbook: Callable[[Path], Workbook]
) -> None:
    """Each restatement is a row, and the summary has live sums of the open ones by part."""
    path = tmp_path / "book.xlsx"
    with released(closed_world.settings) as release:
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
    row = next(place[1:] for place, cell in cells.items() if cell.value == "tip" and f"E{place[1:]}" in cells)
    assert (cells[f"E{row}"].formula or "").startswith("SUMIFS('restatements'!")
    assert Decimal(cells[f"E{row}"].value) == 3


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
