"""The workbook as LibreOffice opens and calculates it."""

from __future__ import annotations

import csv
import shutil
import subprocess
import zipfile
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import Selection, open_release
from pipelines.report.workbook import write_workbook

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import World

pytestmark = [
    pytest.mark.libreoffice,
    pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed"),
]
# All sheets, numbers as they are and not as they look.
TO_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
ALWAYS_CALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item></oor:items>
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a profile in which whatever is opened is recalculated."""
    folder = tmp_path_factory.mktemp("profile")
    (folder / "user").mkdir()
    (folder / "user" / "registrymodifications.xcu").write_text(ALWAYS_CALCULATE, encoding="utf-8")
    return folder


def calculated(workbook: Path, profile: Path, out: Path) -> tuple[dict[str, list[list[str]]], str]:
    """Open a workbook, calculate it, and return its sheets as rows of text, and what was said meanwhile."""
    done = subprocess.run(
        [
            "soffice",
            "--headless",
            f"-env:UserInstallation={profile.as_uri()}",
            "--convert-to",
            TO_CSV,
            "--outdir",
            out,
            workbook,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    sheets = {}
    for file in out.glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as rows:
            sheets[file.stem.removeprefix(f"{workbook.stem}-")] = list(csv.reader(rows))
    said = [line for line in done.stderr.splitlines() if "javaldx" not in line]  # Java is not asked for
    return sheets, "\n".join(said)


def write(world: World, path: Path) -> Path:
    """Write a workbook with every order."""
    with open_release(world.settings) as release:
        write_workbook(reconciliation(release, Selection()), path, all_orders=True)
    return path


def summary(sheets: dict[str, list[list[str]]]) -> list[dict[str, str]]:
    """Return the lines of the summary, which stand side by side, by what each figure is."""
    rows = sheets["summary"]
    head = next(row for row in rows if row[0] == "sale class")
    return [
        {row[0].replace(" ", "_"): row[column] for row in rows if row[0]}
        for column in range(1, len(head))
        if head[column]
    ]


@pytest.mark.slow
def test_recalculated_sums_are_the_databases(world: World, profile: Path, tmp_path: Path) -> None:
    """Opened without a warning and recalculated, every total is the exact one to the cent."""
    sheets, said = calculated(write(world, tmp_path / "book.xlsx"), profile, tmp_path)
    assert said == ""
    names = "order_count break_count subtotal_price delivery_price total_price line_amount unallocated_amount"
    names += " total_residual"
    expected = world.all(
        "select "
        + ", ".join(f"coalesce(sum({name}), 0)" for name in names.split())
        + " from mart.daily_reconciliations "
        "group by currency, sale_class order by currency nulls last, sale_class"
    )
    got = summary(sheets)
    assert len(got) == len(expected)
    for line, row in zip(got, expected, strict=True):
        for name, exact in zip(names.split(), row, strict=True):
            # A spreadsheet keeps 15 digits: beyond them the text is what holds the amount.
            cent = Decimal("0.01") if abs(exact) < 10**13 else Decimal("0.1")
            assert abs(Decimal(line[name]) - exact) < cent, name
            assert cent == Decimal("0.01") or line[f"{name}:_amounts_in_full"] == f"{exact:,f}"


@pytest.mark.slow
def test_the_figures_are_alive(world: World, profile: Path, tmp_path: Path) -> None:
    """An amount changed in a row changes the totals that count it: they are calculated, not copied."""
    book = write(world, tmp_path / "book.xlsx")
    changed = tmp_path / "changed.xlsx"
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet2.xml":
                assert content.count(b"<v>52.0000</v>") == 1  # the total of Berlin's day
                content = content.replace(b"<v>52.0000</v>", b"<v>62.0000</v>")
            new.writestr(name, content)
    totals = [
        {line["currency"]: line["total_price"] for line in summary(calculated(each, profile, tmp_path)[0])}
        for each in (book, changed)
    ]
    assert [Decimal(each["EUR"]) for each in totals] == [52, 62]


@pytest.mark.slow
def test_hostile_texts_are_not_calculated(world: World, profile: Path, tmp_path: Path) -> None:
    """A store named like a formula is a name in the sheet, and so is a status."""
    sheets, _ = calculated(write(world, tmp_path / "book.xlsx"), profile, tmp_path)
    cells = {cell for rows in sheets.values() for row in rows for cell in row}
    assert {"=2+2", "@SUM(1+1)*cmd|' /C calc'!A0", ">0"} <= cells
    assert not {cell for cell in cells if cell.startswith(("#", "Err:"))}
