"""A restored folder equals the destroyed one; a damaged backup is named and restores nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pipelines import cli
from pipelines.backup import BackupError, Rows, back_up, read_manifest, restore
from pipelines.backup.comparing import BackupFile, signature_of
from pipelines.finance.closing import build_and_record
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ledger import LedgerError, ledger_of, verify
from pipelines.privacy import NoErasures
from pipelines.settings import SettingsError, load_settings
from pipelines.settlements.importing import effective_statements, import_statements
from pipelines.settlements.mapping import read_mapping
from pipelines.vault import new_key_file, open_vault
from pipelines.warehouse.catalogue.tables import tables
from pipelines.warehouse.release.release import publish
from tests.backup.conftest import order, sign
from tests.faults.conftest import running

if TYPE_CHECKING:
    from pathlib import Path

    from tests.backup.conftest import Folder

ORDERS = "select order_id, total_price, status, customer_key, _payload_sha256 from core.orders order by all"
CLOSED = "select business_date, measure, closed_amount, current_amount from mart.closed_days order by all"

MANY = 2_100  # two loads
TABLES = sum(table.is_released for table in tables())


@pytest.fixture
def empty(folder: Folder) -> Folder:
    """Give a folder that was backed up, then destroyed; its data folder is there and empty."""
    back_up(folder.settings, folder.backups)
    folder.destroy()
    folder.data.mkdir()
    return folder


def _command(monkeypatch: pytest.MonkeyPatch, folder: Folder, *arguments: str) -> int:
    for name, value in folder.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["ordermart", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.mark.slow
def test_restored_folder_is_what_was_destroyed(
    filled: Folder, folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Documents, personal data, ledger, work list and every compared table are the same after the two commands."""
    assert _command(monkeypatch, folder, "backup", str(folder.backups)) == 0
    assert "keys" in capsys.readouterr().out
    folder.destroy()
    assert _command(monkeypatch, folder, "restore", str(folder.backups)) == 0
    said = capsys.readouterr().out
    assert f"{TABLES} tables compared with release" in said
    assert "every row is the same" in said
    assert "Not compared" not in said
    for query in (ORDERS, CLOSED):
        assert folder.rows(query) == filled.rows(query)
    assert verify(ledger_of(folder.data)) == verify(ledger_of(filled.data))
    with open_vault(folder.settings) as vault:
        assert vault.decrypt("orders", 3)["/user_phone"] == "+49000003"
    with WorkList(inbox_path(folder.data)) as work:
        assert work.due("orders") == [70, 71]
    folder.land("orders", [order(3, status="refused")])  # landing goes on
    folder.publish()
    assert folder.rows("select status from core.orders where order_id = 3") == [("refused",)]


@pytest.mark.slow
def test_documents_landed_after_the_release_are_restored_too(folder: Folder) -> None:
    """Loads later than the release are left out of the comparison alone, and are in the new release."""
    folder.land("orders", [order(8), order(1, total_price=99)])
    back_up(folder.settings, folder.backups)
    folder.destroy()
    folder.data.mkdir()
    done = restore(folder.settings, folder.backups)
    assert done.comparison.tables == TABLES
    assert done.comparison.different == []
    assert folder.rows("select count(*), max(total_price) from core.orders") == [(7, 99)]
    assert folder.rows("select cause from mart.restatements")  # of the day that is closed


def _alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [_alter, _cut, os.unlink])
@pytest.mark.parametrize("which", ["raw/documents/orders/*", "vault/vault.sqlite", "ledger/ledger.jsonl"])
def test_damaged_backup_is_named_and_restores_nothing(damage: Any, which: str, empty: Folder) -> None:
    """A file of the backup that is altered, cut or missing is named; the data folder stays empty."""
    (path,) = empty.backups.glob(f"2*/{which}")
    damage(path)
    with pytest.raises(BackupError, match=f"damaged in 1 files: .*{path.name}"):
        restore(empty.settings, empty.backups)
    assert not list(empty.data.iterdir())


@pytest.mark.slow
def test_exit_codes_of_a_restore(
    empty: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 for a damaged backup and for a folder that is not empty, 2 for another service; `--check` alone reads it."""
    assert _command(monkeypatch, empty, "restore", "--check", str(empty.backups)) == 0
    monkeypatch.setenv("ORDERMART_PARTNER__BASE_URL", "https://elsewhere.example")
    assert _command(monkeypatch, empty, "restore", str(empty.backups)) == 2
    monkeypatch.delenv("ORDERMART_PARTNER__BASE_URL")
    (manifest,) = empty.backups.glob("*/manifest.json")
    content = manifest.read_bytes()
    manifest.write_bytes(content[:-20])
    assert _command(monkeypatch, empty, "restore", str(empty.backups)) == 1
    assert "manifest.json is damaged" in capsys.readouterr().err
    manifest.write_bytes(content)
    (empty.data / "ledger").mkdir()
    assert _command(monkeypatch, empty, "restore", str(empty.backups)) == 1
    assert "is not empty, it has ledger" in capsys.readouterr().err
    assert {path.name for path in empty.data.iterdir()} == {"ledger", "run.lock"}


@pytest.mark.slow
def test_a_build_that_fails_leaves_what_was_restored(empty: Folder) -> None:
    """A build or publication that fails after every file is in place says so, and what remains to be done."""
    text = empty.file.read_text(encoding="utf-8")
    empty.file.write_text(text + '[reference]\nproducts = "none.csv"\n', encoding="utf-8")
    with pytest.raises(BackupError, match=r"every file was restored.*none\.csv.*then `ordermart build`"):
        restore(empty.settings, empty.backups)
    empty.file.write_text(text, encoding="utf-8")
    build_and_record(empty.settings)
    assert publish(empty.settings).rows["core.orders"] > 0


@pytest.mark.slow
def test_tables_that_differ_are_named(
    empty: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows of another hash than the manifest's: exit code 3, and the tables are named."""
    (backup,) = empty.backups.glob("2*")
    manifest = read_manifest(backup)
    assert manifest.release
    tables = manifest.release.tables
    tables["core.orders"] = Rows(tables["core.orders"].count, "1")
    tables["core.stores"] = Rows(5, tables["core.stores"].hashes)
    sign(empty, backup, manifest)
    assert _command(monkeypatch, empty, "restore", str(empty.backups)) == 3
    said = capsys.readouterr().out
    assert "DIFFERENT  core.orders has other values" in said
    assert "DIFFERENT  core.stores has 1 rows, the release 5" in said
    assert f"2 of {TABLES} tables differ" in said


@pytest.mark.slow
def test_restore_with_other_keys_says_so(empty: Folder) -> None:
    """Nobody knows who wrote it: refused, unless a person does; then a sentence names the missing part."""
    other = empty.place / "other.json"
    new_key_file(other)
    settings = load_settings(empty.file, {**empty.environ, "ORDERMART_VAULT__KEY_FILE": str(other)})
    with pytest.raises(BackupError, match="is signed, which only the vault's keys of that time can prove"):
        restore(settings, empty.backups)
    assert not list(empty.data.iterdir())
    done = restore(settings, empty.backups, unsigned=NoErasures("the keys burnt"))
    (note,) = done.unopened
    assert (done.assess().is_good, done.assess().unchecked) == (False, [note])
    assert "cannot be opened: [vault] master_key is not the key" in note
    assert len(empty.rows(ORDERS)) == 6


def _forged(backup: Path, how: str) -> None:
    """Change a file of a backup, and its manifest, as somebody without the keys can."""
    manifest = read_manifest(backup)
    (path,) = (backup / each.path for each in manifest.files if each.path == "raw/source.json")
    files = [each for each in manifest.files if backup / each.path != path]
    if how != "left out":
        content = path.read_bytes() + b" "
        path.unlink()
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        files.append(BackupFile(str(path.relative_to(backup)), len(content), digest, 0))
    forged = msgspec.structs.replace(manifest, files=files)
    if how == "signed by another":
        forged = msgspec.structs.replace(forged, signature=signature_of(forged, os.urandom(32)))
    elif how == "not signed":
        forged = msgspec.structs.replace(forged, signature="")
    (backup / "manifest.json").write_bytes(msgspec.json.encode(forged))


@pytest.mark.slow
def test_forged_manifest_is_refused(empty: Folder) -> None:
    """In one sentence, and nothing is restored; one of an older version is, on somebody's word."""
    (backup,) = empty.backups.glob("2*")
    kept = empty.place / "kept"
    shutil.copytree(backup, kept)
    for how in ("changed", "left out", "signed by another", "not signed", "no vault"):
        if how == "no vault":
            manifest = read_manifest(backup)
            files = [each for each in manifest.files if not each.path.startswith("vault/")]
            forged = msgspec.structs.replace(manifest, files=files)
            (backup / "manifest.json").write_bytes(msgspec.json.encode(forged))
        else:
            _forged(backup, how)
        with pytest.raises(BackupError, match=r"manifest\.json .*signature: somebody|is not signed|there is no vault"):
            restore(empty.settings, empty.backups)
        assert not list(empty.data.iterdir())
        shutil.rmtree(backup)
        shutil.copytree(kept, backup)
    _forged(backup, "not signed")
    restore(empty.settings, empty.backups, unsigned=NoErasures("of an older version"))
    (entry,) = ledger_of(empty.data).entries("unsigned_restored")
    assert entry.body["reason"] == "of an older version"
    assert entry.body["backup"] == backup.name
    assert verify(ledger_of(empty.data)).entries


@pytest.mark.slow
def test_backup_of_a_later_format_is_refused(empty: Folder) -> None:
    """A manifest that a later version wrote is not guessed at."""
    (path,) = empty.backups.glob("*/manifest.json")
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(BackupError, match="has format 2, this version reads up to 1"):
        restore(empty.settings, empty.backups)


@pytest.mark.slow
def test_path_out_of_the_data_folder_is_refused(empty: Folder) -> None:
    """A manifest that names a path above the data folder restores nothing there."""
    (path,) = empty.backups.glob("*/manifest.json")
    path.write_bytes(path.read_bytes().replace(b'"format.json"', b'"../format.json"'))
    with pytest.raises(BackupError, match="is a link, or no file that a backup writes"):
        restore(empty.settings, empty.backups)


@pytest.mark.slow
def test_settings_errors_of_a_restore_write_nothing(empty: Folder) -> None:
    """Data of another service are refused before anything is copied."""
    settings = load_settings(empty.file, {**empty.environ, "ORDERMART_PARTNER__BASE_URL": "https://elsewhere.example"})
    with pytest.raises(SettingsError, match="set it back"):
        restore(settings, empty.backups)
    assert not list(empty.data.iterdir())


@pytest.mark.slow
@pytest.mark.timeout(900)  # three builds and two runs, on a busy machine
def test_backup_during_a_run_restores(tmp_path: Path) -> None:
    """Of backups taken all through a night, one with some loads of it restores: ids done on its work list are there.

    Every document has its personal data, and the tables of the last release are the same.
    """
    with running(tmp_path, orders=MANY, stores=4, days=10, trouble={"latency_seconds": 0.03}) as place:
        ids = tmp_path / "some"
        ids.write_text("\n".join(map(str, place.ids[:100])))
        assert place.command("run", "--order-ids", str(ids))[0] in (0, 3)
        taken = []
        with place.start("run", "--order-ids", str(place.folder / "ids")) as process:
            try:
                held, later = -1, 0.0
                while process.poll() is None:  # one with each load, and every ten seconds
                    loads = len(list((place.data / "raw" / "observations" / "orders").iterdir()))
                    if loads != held or time.monotonic() > later:
                        taken.append(back_up(place.settings(), tmp_path / "backups").path)
                        held, later = loads, time.monotonic() + 10
                    time.sleep(0.1)
                said = "".join(process.communicate())
            finally:
                process.kill()
        assert process.returncode in (0, 3), said
        shutil.rmtree(place.data)
        counts = {path: len(list((path / "raw" / "observations" / "orders").iterdir())) for path in taken}
        assert len(set(counts.values())) > 1, counts
        middle = next(path for path in taken if counts[path] > 1)
        place.data.mkdir()
        done = restore(place.settings(), middle)
        assert done.comparison.tables > 60, done.comparison
        assert done.comparison.different == []
        held = {row[0] for row in place.all("select order_id from core.orders")}
        with WorkList(inbox_path(place.data)) as work:
            due = set(work.due("orders"))
        assert len(held) > 100
        assert set(place.ids) <= held | due
        with open_vault(place.settings()) as vault:
            (phones,) = place.all("select list(order_id) from core.orders where has_user_phone")[0]
            assert all("/user_phone" in vault.decrypt("orders", order_id) for order_id in phones)


@pytest.mark.slow
def test_statements_are_restored_with_the_ledger(folder: Folder) -> None:
    """A statement and its lines are in a backup, and the same file is refused after the restore, too."""
    mapping, file = folder.place / "m.toml", folder.place / "statement.csv"
    mapping.write_text(
        'platform = "p"\norders = { platform = ["web"] }\n[line]\nstatement = "ref"\norder = "order"\n'
        'currency = "EUR"\n'
        'date = { column = "day", form = "%Y-%m-%d" }\n[components]\ngross = "+amount"\n',
        encoding="utf-8",
    )
    file.write_text("ref,order,day,amount\nS1,1,2026-11-02,13.5001\n", encoding="utf-8")
    import_statements(ledger_of(folder.data), file, read_mapping(mapping))
    build_and_record(folder.settings)
    publish(folder.settings)
    lines = "select * from mart.settlement_lines"
    before = folder.rows(lines)
    assert len(before) == 1
    back_up(folder.settings, folder.backups)
    folder.destroy()
    folder.data.mkdir()
    restore(folder.settings, folder.backups)
    assert folder.rows(lines) == before
    assert [each.ref for each in effective_statements(ledger_of(folder.data).entries())] == ["S1"]
    with pytest.raises(LedgerError, match="imported before"):
        import_statements(ledger_of(folder.data), file, read_mapping(mapping))
