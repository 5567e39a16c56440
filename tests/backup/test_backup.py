"""A backup is complete, costs as much as is new, and is refused rather than taken of damaged files."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.backup import BackupError, accept_losses, back_up, check_backup, compare, mend, read_manifest, restore
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.inventory import read_inventory, record_stores
from pipelines.landing.merge import merge_days
from pipelines.landing.raw_folder import raw_files
from pipelines.ledger import current_user, ledger_of
from pipelines.notify import last_backup
from pipelines.settings import SettingsError, load_settings
from pipelines.vault import open_vault
from tests.backup.conftest import order

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.backup.conftest import Folder


@pytest.mark.slow
def test_backup_holds_what_cannot_be_derived(folder: Folder) -> None:
    """Raw, vault, work list, ledger and formats are in it, each file with its hash; nothing derived, and no keys."""
    done = back_up(folder.settings, folder.backups)
    names = {file.path for file in read_manifest(done.path).files}
    there = {str(path.relative_to(done.path)) for path in done.path.rglob("*") if path.is_file()}
    assert there == names | {"manifest.json"}
    assert {"vault/vault.sqlite", "inbox/worklist.sqlite", "ledger/ledger.jsonl", "format.json"} <= names
    assert {"raw/source.json", "inventory.json"} <= names
    assert len([name for name in names if name.startswith("raw/observations/")]) == 2
    assert not [name for name in names if name.startswith(("raw/index", "published", "dagster")) or "key" in name]
    assert check_backup(folder.backups)[0] == done.path
    noted = last_backup(folder.data)
    assert noted is not None
    assert noted.path == str(done.path)
    assert dt.datetime.now(dt.UTC) - noted.taken_at < dt.timedelta(minutes=5)


@pytest.mark.slow
def test_next_backup_copies_only_what_is_new(folder: Folder) -> None:
    """Unchanged files are links, a new load is copied, and each backup is complete without the others."""
    first = back_up(folder.settings, folder.backups)
    folder.land("orders", [order(9)])
    second = back_up(folder.settings, folder.backups)
    kept = "raw/observations/stores"
    (name,) = (path.name for path in (first.path / kept).iterdir())
    assert (first.path / kept / name).stat().st_ino == (second.path / kept / name).stat().st_ino
    # two raw files, the list of hashes, the vault; the index and locks are not in a backup
    assert second.copied == 4
    third = back_up(folder.settings, folder.backups, keep=1)
    assert third.copied == 0
    assert third.removed == 2
    assert [path.name for path in folder.backups.iterdir() if path.is_dir()] == [third.path.name]
    check_backup(third.path)


@pytest.mark.slow
def test_killed_backup_is_cleared_and_never_taken_for_one(folder: Folder) -> None:
    """What a killed backup left has no manifest and another name; the next backup removes it."""
    done = back_up(folder.settings, folder.backups)
    left = folder.backups / ".unfinished-29991231T000000000000"
    done.path.rename(left)
    with pytest.raises(BackupError, match="holds no complete backup"):
        check_backup(folder.backups)
    back_up(folder.settings, folder.backups)
    assert not left.exists()


@pytest.mark.slow
def test_damaged_file_is_named_and_not_backed_up(folder: Folder) -> None:
    """A raw file or a row file of the ledger that changed is named; the earlier backup stays, whatever is kept."""
    done = back_up(folder.settings, folder.backups)
    raw = raw_files(folder.data, "orders").documents[0].path
    rows = next((folder.data / "ledger").glob("*.parquet"))
    for path in (raw, rows):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(BackupError, match=f"{path.name}: other content.*cp -p {done.path}"):
            back_up(folder.settings, folder.backups, keep=1)
        path.write_bytes(content)
    assert check_backup(folder.backups)[0] == done.path
    assert back_up(folder.settings, folder.backups).copied == 0


@pytest.mark.slow
def test_lost_loads_of_the_release_are_named(folder: Folder) -> None:
    """Raw files that vanished since the release are no reason for a backup without them."""
    pair = raw_files(folder.data, "orders")
    for path in (pair.documents[0].path, pair.observations[0].path):
        path.unlink()
    with pytest.raises(BackupError, match=f"{pair.load_ids[0]}.parquet: missing"):
        back_up(folder.settings, folder.backups)


@pytest.mark.slow
def test_backup_is_elsewhere_and_of_something(folder: Folder, tmp_path: Path) -> None:
    """A folder within the data folder, or around it, is refused; so is a data folder without documents."""
    for target in (folder.data / "backups", folder.place):
        with pytest.raises(SettingsError, match="contain each other"):
            back_up(folder.settings, target)
    folder.destroy()
    with pytest.raises(BackupError, match="nothing to back up yet"):
        back_up(folder.settings, tmp_path / "other")


@pytest.mark.slow
def test_loads_committed_during_a_backup_are_undone_in_its_vault(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load that is committed after raw was copied is one that was killed in the copy: a restore undoes it."""
    import pipelines.backup.comparing as module  # noqa: PLC0415

    real = module.copy_database

    def land_first(source: Path, target: Path) -> None:
        if source.name == "vault.sqlite":
            folder.land("orders", [order(20)])
        real(source, target)

    monkeypatch.setattr(module, "copy_database", land_first)
    done = back_up(folder.settings, folder.backups)
    monkeypatch.undo()
    query = "select count(*), max(id) from personal_data where kind = 'orders'"
    for path, expected in ((done.path, 1), (folder.data, 0)):
        with closing(sqlite3.connect(path / "vault" / "vault.sqlite")) as db:
            assert db.execute(query).fetchone() == (7, 20)
            assert len(db.execute("select * from open_loads").fetchall()) == expected
    folder.destroy()
    folder.data.mkdir()
    restore(folder.settings, folder.backups)
    with open_vault(folder.settings) as vault:
        assert vault._db.execute(query).fetchone() == (6, 6)
        assert vault.tally.broken() == []


@pytest.mark.slow
def test_merge_during_a_backup_loses_no_load(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are merged away while they are copied: the list is read again, and every load is there once."""
    import pipelines.backup.comparing as module  # noqa: PLC0415

    folder.land("orders", [order(21)])
    loads = raw_files(folder.data, "orders").load_ids
    real, merged = module.copy_file, []

    def merge_first(source: Path, target: Path) -> tuple[int, str]:
        if "observations/orders" in str(source) and not merged:
            merged.append(merge_days(folder.data, "orders", dt.date(9999, 1, 1)))
        return real(source, target)

    monkeypatch.setattr(module, "copy_file", merge_first)
    done = back_up(folder.settings, folder.backups)
    assert merged == [2]
    assert raw_files(done.path, "orders").load_ids == loads
    assert len(list((done.path / "raw" / "observations" / "orders").iterdir())) == 1
    check_backup(done.path)


def _deletable(readme: str) -> dict[str, bool]:
    """Return, of data/README.md, each path and whether it says that it may be deleted."""
    rows = [line.strip("|").split(" | ") for line in readme.splitlines() if line.startswith("| `")]
    return {path.strip().strip("`"): row[-1].startswith("yes") for row in rows for path in row[0].split(", ")}


@pytest.mark.slow
def test_what_may_be_deleted_is_missed_by_nothing(folder: Folder) -> None:
    """Without all that may be deleted, a build gives the same release and a backup is taken; the rest is missed."""
    said = _deletable((Path(__file__).parents[2] / "data" / "README.md").read_text(encoding="utf-8"))
    before = folder.rows("select * from mart.orders order by all")
    for path in (path for path, may in said.items() if may):
        there = folder.data / path
        shutil.rmtree(there) if there.is_dir() else there.unlink(missing_ok=True)
    assert not (folder.data / "warehouse" / "warehouse.duckdb").exists()
    assert not list(compare(folder.settings).damages)
    folder.publish()
    assert folder.rows("select * from mart.orders order by all") == before
    assert back_up(folder.settings, folder.backups).path.exists()
    for path in ("raw", "vault", "ledger", "inbox"):
        assert not said[f"{path}/"]
        (folder.data / path).rename(folder.place / path)
        with pytest.raises((BackupError, SettingsError)):
            back_up(folder.settings, folder.backups)
        shutil.rmtree(folder.data / path, ignore_errors=True)
        (folder.place / path).rename(folder.data / path)


def _flip(path: Path) -> None:
    """Change one bit, and keep the time of the file."""
    times, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def _names(folder: Folder) -> list[str]:
    """Return a file of each kind that cannot be rebuilt."""
    record_stores(folder.data)
    rows = sorted(path.name for path in (folder.data / "ledger").glob("*.parquet"))
    pair = raw_files(folder.data, "orders")
    raw = [str(each[0].path.relative_to(folder.data)) for each in pair]
    stores = ["vault/vault.sqlite", "inbox/worklist.sqlite", "ledger/ledger.jsonl"]
    return [*raw, *stores, f"ledger/{rows[0]}", "format.json", "raw/source.json", "inventory.json"]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [_flip, _cut, Path.unlink])
def test_every_file_that_is_damaged_is_named(folder: Folder, damage: Callable[[Path], None]) -> None:
    """A bit, the end, or all of it: the comparison names each, a backup is refused, and good as before it is quiet."""
    names = _names(folder)
    assert compare(folder.settings).damages == []
    found = {}
    for name in names:
        path = folder.data / name
        content = path.read_bytes()
        if damage is _flip and name.endswith(".sqlite"):
            with closing(sqlite3.connect(path)) as db, db:
                page = db.execute(
                    "select rootpage from sqlite_master where name in ('customers', 'entries')"
                ).fetchone()
            times, flipped = path.stat(), bytearray(content)
            flipped[page[0] * 4096 - 5] ^= 1  # rows grow from the end of a page
            path.write_bytes(flipped)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        else:
            damage(path)
        found[name] = {each.path for each in compare(folder.settings).damages}
        if name == "vault/vault.sqlite":
            with pytest.raises(BackupError, match=r"vault\.sqlite"):
                back_up(folder.settings, folder.backups)
        path.write_bytes(content)
    assert {name: name in those for name, those in found.items()} == dict.fromkeys(names, True)
    assert compare(folder.settings).damages == []


@pytest.mark.slow
def test_damaged_texts_of_tables_and_notes_are_named(folder: Folder) -> None:
    """A bit in the text of a trigger, also one that makes it no text, and a note of a part that there is not."""
    record_stores(folder.data)
    path = folder.data / "vault" / "vault.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma wal_checkpoint(truncate)")
    content, word = path.read_bytes(), b"coalesce(max(no)"
    assert compare(folder.settings).damages == []
    for flipped in (b"coalescE(max(no)", b"coa\xecesce(max(no)", b"\xe3oalesce(max(no)"):
        path.write_bytes(content.replace(word, flipped, 1))
        record_stores(folder.data)  # leaves it as it was recorded
        damages = compare(folder.settings).damages
        assert [each.what for each in damages if each.path == "vault/vault.sqlite"], flipped
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("insert into inventory_changed values ('mookups/0', 1)")
    record_stores(folder.data)
    assert {each.path for each in compare(folder.settings).damages} == {"vault/vault.sqlite"}


@pytest.mark.slow
def test_older_stores_are_named_and_later_ones_are_good(folder: Folder) -> None:
    """A vault and a work list of before the last record lack its mark; what was committed after it is no damage."""
    older = {name: (folder.data / name).read_bytes() for name in ("vault/vault.sqlite", "inbox/worklist.sqlite")}
    folder.land("orders", [order(30)])
    with WorkList(inbox_path(folder.data)) as work:
        work.add("orders", [90], why="a test")
    record_stores(folder.data)
    folder.land("orders", [order(31)])
    with WorkList(inbox_path(folder.data)) as work:
        work.add("orders", [91], why="a test")
    assert compare(folder.settings).damages == []
    for name, content in older.items():
        now = (folder.data / name).read_bytes()
        (folder.data / name).write_bytes(content)
        assert [each.path for each in compare(folder.settings).damages if "older" in each.what] == [name]
        (folder.data / name).write_bytes(now)


@pytest.mark.slow
def test_damaged_part_stays_damaged_until_it_is_accepted(folder: Folder) -> None:
    """What changes beside a damaged row does not make it right: the next record leaves it, a reason gives it up."""
    record_stores(folder.data)
    with closing(sqlite3.connect(folder.data / "vault" / "vault.sqlite")) as db:
        (trigger,) = db.execute("select sql from sqlite_master where name = 'inventory_customers_update'").fetchone()
        db.execute("drop trigger inventory_customers_update")
        db.execute("update customers set wrapped = zeroblob(60) where n = 2")  # as a disk would, behind SQLite's back
        db.execute(trigger)
        db.commit()
    assert [damage.path for damage in mend(folder.settings, seconds=60).damages] == ["vault/vault.sqlite"]
    folder.land("orders", [order(32)])
    record_stores(folder.data)
    (damage,) = mend(folder.settings, seconds=60).damages
    assert "customers" in damage.what
    accept_losses(folder.settings, "a test", current_user())
    assert compare(folder.settings).damages == []
    assert [entry.body["reason"] for entry in ledger_of(folder.data).entries("loss_accepted")] == ["a test"]


@pytest.mark.slow
def test_reading_goes_on_where_it_stopped(folder: Folder) -> None:
    """Without time nothing is read, and that is said; with it a round reads everything once."""
    record_stores(folder.data)
    found = compare(folder.settings, seconds=0)
    assert (found.read, found.unread > 10, "were not read this time" in found.sentence()) == (0, True, True)
    assert mend(folder.settings, seconds=60).unread == 0
    assert read_inventory(folder.data).round_ended_at is not None


def test_rows_that_only_the_keys_can_tell_are_not_silently_good(folder: Folder) -> None:
    """Without the vault's keys inventory, doctor and backup say that its rows were not compared."""
    record_stores(folder.data)
    assert "tally" not in compare(folder.settings).sentence()
    said = compare(load_settings(folder.file, {"ORDERMART_WAREHOUSE__THREADS": "1"})).sentence()
    assert "none damaged; the vault's rows were not compared with their tally: [vault] master_key" in said
