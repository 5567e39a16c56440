"""A backup that is older than an erasure is restored without the erased data, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.backup import BackupError, back_up, restore
from pipelines.ingest.lock import RESTORE, run_lock
from pipelines.ledger import erasures, ledger_of
from pipelines.ledger.signed_head import checked_heads
from pipelines.privacy import NoErasures, PersonRequest, PrivacyError, erase, read_log
from pipelines.settings import SettingsError
from pipelines.vault import open_vault
from tests.privacy.conftest import ANN, BOB, World, copied

if TYPE_CHECKING:
    from pathlib import Path

KEYS = "select order_id, customer_key from mart.orders order by all"


@pytest.fixture
def lost(landed: World, tmp_path: Path) -> World:
    """Give a folder that was backed up, in which Ann was erased later, and which was destroyed."""
    world = copied(landed, tmp_path / "place")
    back_up(world.settings, world.backups)
    erase(world.settings, PersonRequest("phone", ANN), has_backups=True)
    world.destroy()
    world.data.mkdir()
    return world


@pytest.mark.slow
def test_restore_applies_later_erasures(lost: World) -> None:
    """Erasures of the log are applied before anything is built, and recorded in the restored ledger."""
    done = restore(lost.settings, lost.backups)
    assert "1 erasures that are later than the backup were applied again." in done.notes
    assert [row[1] is None for row in lost.rows(KEYS)] == [True, False, True]
    with open_vault(lost.settings) as vault:
        assert not any(vault.erasing.of_contact("phone", ANN))
        assert vault.decrypt("orders", 2)["/user_phone"] == BOB
    (entry,) = erasures(ledger_of(lost.data))
    assert entry.body["copied_from"]


def test_restore_refuses_without_the_log(lost: World) -> None:
    """A log that is set and missing, damaged, or another backup that shows an erasure: nothing is restored."""
    log = lost.place / "elsewhere" / "erasures.jsonl"
    log.rename(log.with_name("moved"))
    with pytest.raises(PrivacyError, match=r"erasures\.jsonl is missing"):
        restore(lost.settings, lost.backups)
    log.write_text("{}\n", encoding="utf-8")
    with pytest.raises(PrivacyError, match="is damaged"):
        restore(lost.settings, lost.backups)
    assert not list(lost.data.iterdir())


@pytest.mark.slow
def test_restore_without_the_setting_finds_the_log_that_the_backup_remembers(landed: World, tmp_path: Path) -> None:
    """A settings file is in no backup: what was erased stays erased, or nothing is restored."""
    world = copied(landed, tmp_path / "place")
    world.configure("")
    first = back_up(world.settings, world.backups).path
    erase(world.settings, PersonRequest("phone", ANN), has_backups=True)
    shutil.rmtree(world.data)
    world.data.mkdir()
    log = world.backups / "erasures.jsonl"
    restore(world.settings, first)
    with open_vault(world.settings) as vault:
        assert not any(vault.erasing.of_contact("phone", ANN))
    shutil.rmtree(world.data)
    world.data.mkdir()
    log.unlink()
    with pytest.raises(PrivacyError, match="is missing"):
        restore(world.settings, first)
    world.configure(f'erasure_log = "{world.place / "other.jsonl"}"\n')
    (world.place / "other.jsonl").touch()
    with pytest.raises(PrivacyError, match="does not name"):
        restore(world.settings, first)
    assert not list(world.data.iterdir())


@pytest.mark.slow
def test_word_that_nobody_was_erased_is_an_entry(landed: World, tmp_path: Path) -> None:
    """It replaces a log that is lost; erasures that other backups know of are applied all the same."""
    world = copied(landed, tmp_path / "place")
    first = back_up(world.settings, world.backups).path
    erase(world.settings, PersonRequest("phone", ANN), has_backups=True)
    back_up(world.settings, world.backups)
    shutil.rmtree(world.data)
    shutil.rmtree(world.place / "elsewhere")
    world.data.mkdir()
    with pytest.raises(PrivacyError, match="is missing"):
        restore(world.settings, first)
    restore(world.settings, first, word=NoErasures("the log burnt"))
    (entry,) = ledger_of(world.data).entries("no_erasures_since")
    assert (entry.body["backup"], entry.body["reason"]) == (first.name, "the log burnt")
    with open_vault(world.settings) as vault:
        assert not any(vault.erasing.of_contact("phone", ANN))


def test_backup_creates_the_log_or_refuses(landed: World, tmp_path: Path) -> None:
    """It has every erasure from before; where none can be written, nothing is backed up."""
    world = copied(landed, tmp_path / "place")
    erase(world.settings, PersonRequest("phone", ANN))
    log = world.place / "elsewhere" / "erasures.jsonl"
    log.unlink()
    taken = back_up(world.settings, world.backups).path
    assert (len(read_log(log).erasures), read_log(log).backups) == (1, {taken.name})
    world.configure('erasure_log = "keys.json/log"\n')
    with pytest.raises(BackupError, match="not completed"):
        back_up(world.settings, world.backups)


def test_erasure_without_the_log_of_the_backups_is_refused(landed: World, tmp_path: Path) -> None:
    """A disk that is not mounted: nothing is destroyed before the log can be written."""
    world = copied(landed, tmp_path / "place")
    back_up(world.settings, world.backups)
    (world.place / "elsewhere").rename(world.place / "unmounted")
    with pytest.raises(PrivacyError, match="is missing"):
        erase(world.settings, PersonRequest("phone", ANN), has_backups=True)
    with open_vault(world.settings) as vault:
        assert any(vault.erasing.of_contact("phone", ANN))
    assert erasures(ledger_of(world.data)) == []


_INTERRUPTED = """
import runpy, sys
from pathlib import Path
data, moved = Path(sys.argv[1]), []
def hook(event, given):
    if event == "os.rename" and Path(given[1]).parent == data:
        moved.append(given[1])
        if len(moved) == 3:
            raise KeyboardInterrupt
sys.addaudithook(hook)
sys.argv[1:] = ["restore", sys.argv[2]]
runpy.run_module("pipelines.cli", run_name="__main__")
"""


@pytest.mark.slow
def test_restore_that_a_signal_interrupts_says_so_to_others(lost: World) -> None:
    """It had moved a part into place: nothing takes that for a data folder, and the next restore begins again.

    The witness does not have it, or it would refuse the entries of the next one.
    """
    lost.configure('[ledger]\nwitness = "witness"\n')
    command = [sys.executable, "-c", _INTERRUPTED, str(lost.data), str(lost.backups)]
    done = subprocess.run(command, env=os.environ | lost.environ, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    moved = {each.name for each in lost.data.iterdir()} - {".restoring", "run.lock", "inventory.lock"}
    assert len(moved) == 2, done.stderr
    assert (lost.data / ".restoring" / "vault").exists()
    assert not (lost.place / "witness").exists()
    with pytest.raises(SettingsError, match="give `ordermart restore` again"), run_lock(lost.data, "ordermart run"):
        pass
    with run_lock(lost.data, RESTORE):
        restore(lost.settings, lost.backups)
    assert [row[1] is None for row in lost.rows(KEYS)] == [True, False, True]
    assert len(checked_heads(lost.settings, ledger_of(lost.data))) == 4


@pytest.mark.slow
def test_killed_restore_is_opened_by_nothing_else(lost: World) -> None:
    """What it left is removed by the next restore; until then every command refuses the folder."""
    (lost.data / ".restoring").mkdir()
    (lost.data / "raw").mkdir()
    with pytest.raises(SettingsError, match="give `ordermart restore` again"), run_lock(lost.data, "ordermart run"):
        pass
    with run_lock(lost.data, RESTORE):
        restore(lost.settings, lost.backups)
    with run_lock(lost.data, "ordermart run"):
        assert [row[1] is None for row in lost.rows(KEYS)] == [True, False, True]
