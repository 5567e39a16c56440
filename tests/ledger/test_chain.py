"""The hash chain: entries are kept, and changes are found."""

from __future__ import annotations

import datetime as dt
import json
import os
import pwd
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from pipelines.clock import shift_clock
from pipelines.ledger import Ledger, LedgerError, verify
from pipelines.report.finance_views import verified

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Three entries, the second with rows."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.append("note", {"text": "first"})
    ledger.append("close", {"day": "2026-10-31"}, pa.table({"order_id": [1, 2], "amount": ["1.00", "2.50"]}))
    ledger.append("note", {"text": "=1+1 ünï"})
    return ledger


def test_entries_are_read_in_order_with_their_rows(ledger: Ledger) -> None:
    """Each entry is read as it was written, with its rows."""
    assert [(entry.no, entry.act) for entry in ledger.entries()] == [(1, "note"), (2, "close"), (3, "note")]
    close = next(ledger.entries("close"))
    assert ledger.rows(close).to_pydict() == {"order_id": [1, 2], "amount": ["1.00", "2.50"]}
    assert verify(ledger).entries == 3
    assert verify(ledger).head == ledger.head() == list(ledger.entries())[-1].sha256


def test_who_ignores_the_environment(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry names the user of the process, whatever LOGNAME says."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody else")
    assert ledger.append("note", {}).who == pwd.getpwuid(os.getuid()).pw_name


def test_empty_ledger_is_intact(tmp_path: Path) -> None:
    """Before the first entry there is nothing on disk, and the chain is intact."""
    ledger = Ledger(tmp_path / "none")
    assert verify(ledger).entries == 0
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("change", ["edited", "dropped", "swapped", "appended"])
def test_a_changed_chain_is_found(ledger: Ledger, change: str) -> None:
    """An entry that was edited, removed, moved or forged at the end is named."""
    path = ledger.folder / "ledger.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    if change == "edited":
        lines[0] = lines[0].replace("first", "other")
    elif change == "dropped":
        del lines[1]
    elif change == "swapped":
        lines[0], lines[1] = lines[1], lines[0]
    else:
        forged = json.loads(lines[2]) | {"no": 4}
        lines.append(json.dumps(forged))
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"entry \d"):
        verify(ledger)


def test_changed_row_file_is_found(ledger: Ledger) -> None:
    """A row file that was changed or is missing is named."""
    close = next(ledger.entries("close"))
    path = ledger.folder / str(close.file)
    content = bytearray(path.read_bytes())
    content[10] ^= 1
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="was changed"):
        verify(ledger)
    path.unlink()
    with pytest.raises(LedgerError, match="is missing"):
        verify(ledger)


def test_incomplete_line_is_not_an_entry(ledger: Ledger) -> None:
    """An incomplete last line is ignored when read, and removed by the next entry."""
    with (ledger.folder / "ledger.jsonl").open("ab") as lines:
        lines.write(b'{"no": 4, "act": "clo')
    assert len(list(ledger.entries())) == 3
    ledger.append("note", {"text": "after the kill"})
    assert verify(ledger).entries == 4


def test_two_writers_do_not_break_the_chain(tmp_path: Path) -> None:
    """Concurrent writers wait for one another."""
    script = (
        "import sys; from pathlib import Path; from pipelines.ledger import Ledger\n"
        "ledger = Ledger(Path(sys.argv[1]))\n"
        "for n in range(10): ledger.append('note', {'n': n})"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "ledger")]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert verify(Ledger(tmp_path / "ledger")).entries == 20


def test_times_that_cannot_be_right_are_named(tmp_path: Path) -> None:
    """Of entries of yesterday, of two weeks ago and of 2098 the last two are kept, with the doubt about their time."""
    ledger = Ledger(tmp_path / "ledger")
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    try:
        for moment in (now - dt.timedelta(days=1), now - dt.timedelta(days=14), now + dt.timedelta(days=26_000)):
            shift_clock(moment)
            ledger.append("note", {})
    finally:
        shift_clock(dt.datetime.now(dt.UTC))
    first, second, third = ledger.entries()
    assert first.time_doubt is None
    assert second.time_doubt == f"before the time of entry 1, {first.at}"
    assert third.time_doubt == "ahead of the clock"
    fourth = ledger.append("note", {})
    assert fourth.time_doubt == f"before the time of entry 3, {third.at}"
    shown = "\n".join(verified(verify(ledger)))
    assert "intact: 4 entries." in shown
    assert f"  - entry 2 (note) of {second.at}: before the time of entry 1, {first.at}\n" in shown
    assert f"  - entry 3 (note) of {third.at}: ahead of the clock\n" in shown
    assert len(verify(ledger).time_doubts) == 3


def test_a_time_that_was_ahead_of_a_wrong_clock_is_named_by_verify(ledger: Ledger) -> None:
    """The clock of the machine itself was wrong, so the entry knows of no doubt; the right clock shows it."""
    shift_clock(dt.datetime.now(dt.UTC) - dt.timedelta(days=1))
    try:
        assert [doubt.partition(" of ")[0] for doubt in verify(ledger).time_doubts] == [
            "entry 1 (note)",
            "entry 2 (close)",
            "entry 3 (note)",
        ]
    finally:
        shift_clock(dt.datetime.now(dt.UTC))
    assert verify(ledger).time_doubts == ()


def test_an_entry_is_on_disk_before_it_is_returned(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row file and line are synced, the row file first: a power cut leaves no entry whose rows are lost."""
    synced = []
    sync = os.fsync

    def noted(descriptor: int) -> None:
        sync(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    entry = ledger.append("close", {}, pa.table({"order_id": [1]}))
    rows, line = ledger.file(entry).stat().st_ino, (ledger.folder / "ledger.jsonl").stat().st_ino
    folder = ledger.folder.stat().st_ino
    assert {rows, line, folder} <= {*synced}
    assert synced.index(rows) < synced.index(folder) < synced.index(line)
