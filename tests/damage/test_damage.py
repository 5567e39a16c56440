"""Damage is named or healed, and each word that people rely on turns with a fault, and with what cannot be read."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.record import WEBHOOKS
from pipelines.run.steps import steps_of
from pipelines.run.under_way import begun
from pipelines.settings import load_settings
from tests.damage.matrix import DERIVED, GOOD, is_named, judged, sample
from tests.damage.world import DAMAGES, World, expect, world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CELLS = 8


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Give the world of the matrix."""
    with world(tmp_path_factory.mktemp("damage")) as found:
        yield found


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_file_that_cannot_be_rebuilt_is_named_once_damaged(made: World, damage: str) -> None:
    """All of them are damaged at once: the inventory names each."""
    made.reset()
    names = [name for name in made.files() if not name.startswith((*DERIVED, "inventory"))]
    damaged = [name for name in names if made.damage(name, damage, 0.37)]
    code, said = made.command("inventory")
    assert (code, "Traceback" in said) in {(1, False), (3, False)}, said
    assert [name for name in damaged if not is_named(name, said) and not made.is_same(name)] == []
    assert len(damaged) > (3 if damage == "older" else 15)


def test_a_sample_of_the_matrix_is_named_or_healed(made: World) -> None:
    """Nights, backups, `doctor` and `inventory`, with files, damages and places drawn by a seed."""
    chosen = sample(made, seed=int(os.environ.get("DAMAGE_SEED", "3")), most=0)[:CELLS]
    found = {cell: (verdict, said) for cell, verdict, said in judged(made, chosen)}
    assert {cell: said for cell, (verdict, said) in found.items() if verdict not in GOOD} == {}


def release_file(made: World) -> Path:
    """Return the file of the current release."""
    return (made.data / "published" / "current").resolve() / "ordermart.duckdb"


def unreadable(file: Path) -> None:
    """Overwrite the head of a file."""
    content = file.read_bytes()
    file.chmod(0o600)
    file.unlink()
    file.write_bytes(b"\xff" * 4096 + content[4096:])


def cut_ledger(made: World) -> None:
    """Remove the last entry."""
    file = made.data / "ledger" / "ledger.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


def days(made: World) -> list[str]:
    """Return the business days of the world; the last one is not closed."""
    with duckdb.connect(str(release_file(made)), read_only=True) as db:
        query = "select distinct business_date from mart.orders where business_date is not null order by 1"
        return [str(row[0]) for row in db.execute(query).fetchall()]


def other_row(made: World) -> None:
    """Change an amount in the warehouse."""
    with duckdb.connect(str(made.data / "warehouse" / "warehouse.duckdb")) as db:
        db.execute("update core.orders set tip = coalesce(tip, 0) + 1")


def changed_backup(made: World) -> None:
    """Alter a file of the last backup."""
    file = max((made.folder / "backups").glob("2*/raw/documents/orders/*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.unlink()
    file.write_bytes(bytes(content))


def lost_vault_of_backup(made: World) -> None:
    """Remove the vault of the last backup."""
    max((made.folder / "backups").glob("2*/vault/vault.sqlite")).unlink()


def lost_document(made: World) -> None:
    """Remove a document."""
    next((made.data / "raw" / "documents" / "orders").glob("*.parquet")).unlink()


def without(*names: str) -> Callable[[World], None]:
    """Remove a file or folder of the data folder."""

    def remove(made: World) -> None:
        path = made.data.joinpath(*names)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return remove


def refusing(made: World) -> None:
    """Have the service refuse every order."""
    made.change = lambda path, status, body: (403, {}) if "/orders/" in path else (status, body)


def down(made: World) -> None:
    """Have the service fail."""
    made.change = lambda _path, _status, _body: (503, {})


def due(made: World) -> None:
    """Let an id be due."""
    with WorkList(made.data / "inbox" / "worklist.sqlite") as work:
        work.add("orders", [int((made.folder / "ids").read_text().split()[0])], why="a test")


def unstated(made: World) -> None:
    """State another total for the last day."""
    (made.folder / "later.csv").write_text((made.folder / "totals-1.csv").read_text().replace(*days(made)[1:]))
    expect(made, "totals", "import", str(made.folder / "later.csv"))
    expect(made, "build")


def cheaper(made: World) -> None:
    """Have half of the orders state another total, and fetch them."""
    made.change = lambda path, status, body: (
        (status, {**body, "total_price": 1}) if "/orders/" in path and body["id"] % 2 else (status, body)
    )
    expect(made, "run", "--order-ids", str(made.folder / "ids"))


def unread(made: World) -> None:
    """Have a release that cannot be read."""
    unreadable(release_file(made))


# Of each word: the command, what it says when it is good, a fault, a thing that cannot be read, and what it says then.
WORDS = {
    "night good": (("run",), "", without("raw", "documents"), without("vault", "vault.sqlite")),
    "up to date": (("run", "--order-ids", "{folder}/ids"), "", refusing, down),
    "no blockers": (("close", "day", "{day}", "--check"), "No blockers", due, without("inbox", "worklist.sqlite")),
    "balanced": (("reconcile", "--from", "{day}"), "Balanced: no variances", unstated, unread),
    "supported": (("reconcile", "--from", "{day}"), "loyalty discount:\n    supported", cheaper, unread),
    "intact": (("ledger", "verify"), "is intact", cut_ledger, without("vault", "vault.sqlite")),
    "none damaged": (("inventory",), "none damaged", lost_document, without("vault", "vault.sqlite")),
    "backed up": (
        ("backup", "{folder}/backups"),
        "the rest linked",
        lost_document,
        without("inbox", "worklist.sqlite"),
    ),
    "restored": (("restore", "--check", "{folder}/backups"), "", changed_backup, lost_vault_of_backup),
    "verified": (("verify", "--fraction", "1"), "every row is the same", other_row, unread),
    "ok of doctor": (("doctor",), "none damaged", lost_document, without("inbox", "worklist.sqlite")),
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_turns_with_a_fault_and_with_what_cannot_be_read(made: World, word: str) -> None:
    """It is said of the whole folder, and neither of one with a fault nor of one that cannot be looked at."""
    arguments, good, *faults = WORDS[word]
    made.reset()
    command = tuple(each.format(folder=made.folder, day=days(made)[-1]) for each in arguments)
    code, said = made.command(*command)
    assert (code in (0, 1, 3) if word == "ok of doctor" else code == 0, good in said) == (True, True), said
    for fault in faults:
        made.reset()
        fault(made)
        code, said = made.command(*command)
        assert code in (1, 3), said
        assert "Traceback" not in said
        assert not good or good not in said


def test_rows_that_could_not_be_compared_are_not_verified(made: World) -> None:
    """Without its release the warehouse alone is compared: that is said, and neither exit code 0 nor an error."""
    made.reset()
    (made.data / "published" / "current").unlink()
    code, said = made.command("verify", "--fraction", "1")
    assert (code, "was not compared" in said, "and the current release" in said) == (3, True, False), said


def test_a_ledger_without_its_last_entry_lets_no_day_be_closed(made: World) -> None:
    """It may have been a close. Nor without any: a night, a close and a backup refuse, and say how to restore."""
    made.reset()
    assert "Already closed" in made.command("close", "day", days(made)[0], "--check")[1]
    cut_ledger(made)
    code, said = made.command("close", "day", days(made)[-1], "--check")
    assert (code, "entries were removed" in said) == (1, True), said
    made.reset()
    (made.data / "ledger" / "ledger.jsonl").unlink()
    for command in (
        ("run",),
        ("close", "day", days(made)[-1], "--with-exceptions", "a test"),
        ("backup", str(made.folder / "backups")),
        ("ledger", "verify"),
    ):
        code, said = made.command(*command)
        assert (code, "has 0 entries" in said, "estore" in said) == (1, True, True), said


def test_status_says_that_it_could_not_look(made: World) -> None:
    """A work list that is gone, and a log of verifications that cannot be read, are no empty ones."""
    made.reset()
    _, said = made.command("status")
    assert "every row the same: " in next(line for line in said.splitlines() if line.startswith("Last verification: "))
    without("inbox", "worklist.sqlite")(made)
    (made.data / "warehouse" / "verifications.jsonl").write_text("{")
    _, said = made.command("status")
    assert "Work list: missing, or it cannot be read" in said
    assert "Last verification: unknown, its log cannot be read" in said


def test_a_run_whose_release_cannot_be_read_is_not_good(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release is damaged after the last step: how many documents are refused cannot be looked at."""
    made.reset()
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    with begun(settings, WEBHOOKS) as way:
        for name in steps_of(WEBHOOKS):
            way.do(name)
        unreadable(release_file(made))
    assert (way.run.run_state, "cannot be read" in way.run.errors[0]) == ("failed", True)
