"""The audit pack: complete, without personal data, verified with Python's standard library alone."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.finance.released import FinanceError, period_of
from pipelines.report.audit_pack import TABLES, make_pack

OCTOBER = "2026-10-31T10:00:00Z"
FORMULA = "=5+5"


def verified(pack: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the pack's verifier as an auditor would, without any of our packages."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(pack / "verify.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def relisted(pack: Path, name: str) -> None:
    """Update a changed file's hash in SHA256SUMS, as a forger would."""
    sums = pack / "SHA256SUMS"
    lines = [line for line in sums.read_text(encoding="utf-8").splitlines() if not line.endswith(f"  {name}")]
    lines.append(f"{hashlib.sha256((pack / name).read_bytes()).hexdigest()}  {name}")
    sums.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, books_of: Any, hours: tuple[int, int]) -> tuple[Any, Path]:
    """Make a pack about an October in which an order changed after it was closed."""
    folder = tmp_path_factory.mktemp("evidence")
    books = books_of(folder / "books")
    books.set(sales={"counted_statuses": ["done", FORMULA], "excluded_statuses": ["refused"]})
    for order_id in range(1, 6):
        books.land(order_id, created_at=OCTOBER, store_id=1, status=FORMULA if order_id == 5 else "done")
    books.land(9, created_at="2026-11-02T10:00:00Z", store_id=1, status="=HYPERLINK(1)")
    books.publish()
    books.close("2026-10")
    books.land(1, hours[1], created_at=OCTOBER, store_id=1, total_price="12.50")
    books.publish()
    make_pack(books.settings, period_of(books.settings, "2026-10"), folder / "pack", sample=3, seed=7)
    return books, folder / "pack"


@pytest.fixture
def pack(made: tuple[Any, Path], tmp_path: Path) -> Path:
    """Give a copy of the pack."""
    return Path(shutil.copytree(made[1], tmp_path / "copy"))


@pytest.mark.slow
def test_no_text_is_a_formula(made: tuple[Any, Path]) -> None:
    """A status that a spreadsheet would run begins with an apostrophe, as does the text of a formula of ours.

    What hashes cover is left as it is, the README says so, and the verifier agrees.
    """
    cells = []
    for path in (made[1] / "tables").iterdir():
        with path.open(encoding="utf-8", newline="") as file:
            cells += [cell for row in csv.reader(file) for cell in row if cell[:1] in {"=", "+", "@", "\t", "\r", "'"}]
    assert "'=HYPERLINK(1)" in cells
    assert f"'{FORMULA}" in cells
    assert {cell for cell in cells if not cell.startswith(("'=HYPERLINK", "'- subtotal", f"'{FORMULA}"))} == set()
    with (made[1] / "closes.csv").open(encoding="utf-8", newline="") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["done"] * 4 + [FORMULA]
    assert "closes.csv and\nledger/ are compared with hashes" in (made[1] / "README.txt").read_text(encoding="utf-8")
    assert verified(made[1]).returncode == 0


@pytest.mark.slow
def test_a_pack_holds_what_it_names(made: tuple[Any, Path]) -> None:
    """Closed orders, restatements, receipts and settings are there; a table that is not is named."""
    _, pack = made
    with (pack / "closes.csv").open(encoding="utf-8") as file:
        assert [row["order_id"] for row in csv.DictReader(file)] == ["1", "2", "3", "4", "5"]
    with (pack / "tables" / "mart.restatements.csv").open(encoding="utf-8") as file:
        assert [(row["order_id"], row["measure"], row["restatement_amount"]) for row in csv.DictReader(file)] == [
            ("1", "total_price", "-1.0001")
        ]
    assert len(list((pack / "receipts").iterdir())) == 3
    there = {path.stem for path in (pack / "tables").iterdir()}
    read_me = (pack / "README.txt").read_text(encoding="utf-8")
    assert all(name in there or name in read_me for name in TABLES)
    assert json.loads((pack / "settings.json").read_text(encoding="utf-8"))["sales"]["counted_statuses"] == [
        "done",
        FORMULA,
    ]


@pytest.mark.slow
def test_the_same_seed_draws_the_same_orders(made: tuple[Any, Path], tmp_path: Path) -> None:
    """A pack made again draws the same receipts; a folder that is there is not written into."""
    books, pack = made
    period = period_of(books.settings, "2026-10")
    make_pack(books.settings, period, tmp_path / "again", sample=3, seed=7)
    assert {p.name for p in (pack / "receipts").iterdir()} == {p.name for p in (tmp_path / "again/receipts").iterdir()}
    with pytest.raises(FinanceError, match="already exists"):
        make_pack(books.settings, period, tmp_path / "again")


@pytest.mark.slow
def test_a_day_closed_since_the_release_is_in_the_pack(books: Any, tmp_path: Path) -> None:
    """A pack made right after a close has its orders; after the day was reopened it has none of them."""
    books.land(1, created_at=OCTOBER, store_id=1)
    books.publish()
    period = period_of(books.settings, "2026-10")
    make_pack(books.settings, period, tmp_path / "open")
    books.close("2026-10-31")
    make_pack(books.settings, period, tmp_path / "closed")
    assert (tmp_path / "closed" / "closes.csv").read_text(encoding="utf-8").count("\n") == 2
    books.reopen("2026-10-31", 1)
    make_pack(books.settings, period, tmp_path / "reopened")
    header = (tmp_path / "reopened" / "closes.csv").read_text(encoding="utf-8")
    assert header == (tmp_path / "open" / "closes.csv").read_text(encoding="utf-8")
    assert header.count("\n") == 1
    assert all((tmp_path / name / "receipts" / "1.txt").exists() for name in ("open", "closed", "reopened"))
    assert verified(tmp_path / "reopened").returncode == 0


@pytest.mark.slow
def test_no_secret_is_in_a_pack(made: tuple[Any, Path]) -> None:
    """Neither credentials nor keys, nor the body that may hold them, nor a path of this machine."""
    _, pack = made
    settings = (pack / "settings.json").read_text(encoding="utf-8")
    for word in ("client_secret}", "master_key", "lookup_secret", str(Path.home()), str(pack.parent)):
        assert word not in settings


@pytest.mark.slow
def test_an_untouched_pack_is_verified(made: tuple[Any, Path], pack: Path) -> None:
    """A pack that was copied elsewhere holds, and knows every head that may have been kept."""
    books, _ = made
    done = verified(pack, "--expect-head", books.ledger.head())
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing was changed" in done.stdout
    assert verified(pack, "--expect-head", "f" * 64).returncode == 1
    earlier = [entry.sha256 for entry in books.ledger.entries()][:-1]
    assert earlier
    assert [verified(pack, "--expect-head", sha256).returncode for sha256 in earlier] == [0] * len(earlier)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["row", "closed", "entry", "forged entry", "lost", "added", "head", "no chain", "no list"]
)
def test_a_planted_change_is_found(pack: Path, fault: str) -> None:
    """An edited row, row file or entry, one forged with its list, files lost or added, another head: each is named."""
    chain = pack / "ledger" / "ledger.jsonl"
    if fault == "row":
        path = pack / "tables" / "mart.restatements.csv"
        path.write_text(path.read_text(encoding="utf-8").replace("-1.0001", "-1.0000"), encoding="utf-8")
    elif fault == "closed":
        path = next((pack / "ledger").glob("*-closed.parquet"))
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    elif fault in {"entry", "forged entry"}:
        chain.write_text(
            chain.read_text(encoding="utf-8").replace('"order_count":5', '"order_count":6'), encoding="utf-8"
        )
        if fault == "forged entry":
            relisted(pack, "ledger/ledger.jsonl")
    elif fault == "head":
        (pack / "head.txt").write_text("f" * 64 + "\n", encoding="utf-8")
        relisted(pack, "head.txt")
    elif fault in {"lost", "no chain", "no list"}:
        {"lost": pack / "closes.csv", "no chain": chain, "no list": pack / "SHA256SUMS"}[fault].unlink()
    else:
        (pack / "more.csv").write_text("x", encoding="utf-8")
    done = verified(pack)
    assert (done.returncode, done.stderr) == (1, "")
    assert "WRONG: " in done.stdout


@pytest.mark.slow
def test_forged_pack_neither_steers_a_terminal_nor_ends_the_verifier(pack: Path) -> None:
    """Names and entries of a forger's are shown without control characters; an entry of another form is named."""
    (pack / "\x1b[2J\u202egnp.txt").write_text("x", encoding="utf-8")
    done = verified(pack)
    assert "WRONG: ?[2J?gnp.txt: not listed" in done.stdout
    chain = pack / "ledger" / "ledger.jsonl"
    for line in ('{"sha256": []}', '{"sha256": "a", "file": "."}', "[" * 100_000, "[1]", '{"sha256": "\x1b[2J"}'):
        chain.write_text(line + "\n", encoding="utf-8")
        done = verified(pack)
        assert (done.returncode, done.stderr, "WRONG: entry 1: " in done.stdout) == (1, "", True)
        assert "\x1b" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["amount", "removed", "added", "day"])
def test_closed_orders_are_tied_to_the_chain(pack: Path, made: tuple[Any, Path], fault: str) -> None:
    """A changed amount, an order more or less, or a whole day removed is named, although the list was written again."""
    closes = pack / "closes.csv"
    header, *rows = closes.read_text(encoding="utf-8").splitlines()
    changed = {
        "amount": [rows[0].replace("13.5001", "913.5001"), *rows[1:]],
        "removed": rows[1:],
        "added": [*rows, rows[0].replace("1,", "9,", 1)],
        "day": [],
    }[fault]
    assert changed != rows
    closes.write_text("\n".join([header, *changed]) + "\n", encoding="utf-8")
    relisted(pack, "closes.csv")
    done = verified(pack)
    assert done.returncode == 1
    assert "WRONG: closes.csv: " in done.stdout
    kept = hashlib.sha256((made[1] / "SHA256SUMS").read_bytes()).hexdigest()
    assert f"SHA256SUMS: its hash is not {kept}" in verified(pack, "--sums", kept).stdout
    assert verified(made[1], "--sums", kept, "--head", made[0].ledger.head()).returncode == 0


@pytest.mark.slow
def test_each_file_of_a_pack_is_bound(made: tuple[Any, Path], pack: Path) -> None:
    """Whatever file is changed by a byte is named; if relisted, the printed hash of the list differs."""
    _, before = made
    for path in sorted(each for each in pack.rglob("*") if each.is_file()):
        name = path.relative_to(pack).as_posix()
        if name in {"SHA256SUMS", "verify.py"}:
            continue
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        assert f"WRONG: {name}: differs from SHA256SUMS" in verified(pack).stdout
        path.write_bytes(content)
    printed = f"SHA256SUMS has the hash {hashlib.sha256((before / 'SHA256SUMS').read_bytes()).hexdigest()}"
    assert printed in verified(pack).stdout
    (pack / "closes.csv").write_text("order_id\n", encoding="utf-8")
    relisted(pack, "closes.csv")
    assert printed not in verified(pack).stdout


@pytest.mark.slow
def test_an_incomplete_line_is_left_out_of_a_pack(made: tuple[Any, Path], tmp_path: Path) -> None:
    """A pack made with an incomplete last line in the ledger verifies."""
    books, _ = made
    chain = books.ledger.folder / "ledger.jsonl"
    entries = chain.read_bytes()
    chain.write_bytes(entries + b'{"no": 9')
    pack = make_pack(books.settings, period_of(books.settings, "2026-10"), tmp_path / "pack").path
    chain.write_bytes(entries)
    assert verified(pack, "--expect-head", books.ledger.head()).returncode == 0
