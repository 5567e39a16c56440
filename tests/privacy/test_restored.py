"""A backup that is older than an erasure is restored without the erased data, or not at all."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from pipelines.backup import back_up, restore
from pipelines.ledger import ledger_of
from pipelines.ledger.privacy import erasures
from pipelines.privacy import Asked, PrivacyError, erase
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
    erase(world.settings, Asked("phone", ANN), has_backups=True)
    world.destroy()
    world.data.mkdir()
    return world


@pytest.mark.slow
def test_restore_applies_later_erasures(lost: World) -> None:
    """What the erasure log has is applied before anything is built, and recorded in the restored ledger."""
    done = restore(lost.settings, lost.backups)
    assert "1 erasures that are later than the backup were applied again." in done.notes
    assert [row[1] is None for row in lost.rows(KEYS)] == [True, False, True]
    with open_vault(lost.settings) as vault:
        assert vault.erasing.of_phone(ANN) == []
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


def test_restore_refuses_an_unset_log_if_another_backup_has_erasures(landed: World, tmp_path: Path) -> None:
    """The later backup's ledger shows that there were erasures: the setting is asked for."""
    world = copied(landed, tmp_path / "place")
    first = back_up(world.settings, world.backups).path
    erase(world.settings, Asked("phone", ANN), has_backups=True)
    back_up(world.settings, world.backups)
    world.configure("")
    shutil.rmtree(world.data)
    world.data.mkdir()
    with pytest.raises(PrivacyError, match=r"set \[privacy\] erasure_log"):
        restore(world.settings, first)
    assert not list(world.data.iterdir())
