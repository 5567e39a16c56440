"""An erased person stays erased: fetched again, restored from each older backup, and after new keys."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from pipelines.backup import back_up, restore
from pipelines.privacy import PersonRequest, erase, forget_request, rotate_keys
from pipelines.vault import open_vault
from tests.canaries import Marks
from tests.privacy.conftest import ANN, CODE, EMAIL, NOTE, World, copied, person

if TYPE_CHECKING:
    from pathlib import Path

MARKS = Marks(ANN, EMAIL, CODE, NOTE)


def _fetch_again(world: World) -> None:
    """The service still has her: the same order, a changed one, each with its texts."""
    world.land("orders", [person(1, ANN, dispatch_note=NOTE, door={"code": CODE}), person(3, ANN, status="changed")])
    world.publish()


def _is_gone(world: World) -> None:
    assert MARKS.hits(world.data) == []
    with open_vault(world.settings) as vault:
        assert not any(vault.erasing.of_contact("phone", ANN))
    keys = world.rows("select order_id, customer_key is null from mart.orders order by all")
    assert keys == [(1, True), (2, False), (3, True)]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_erased_person_stays_erased(landed: World, tmp_path: Path) -> None:
    """In files and names of the data folder, in any form, there is no mark of her; another customer's key stays."""
    world = copied(landed, tmp_path / "place")
    world.publish()
    taken = [back_up(world.settings, world.backups).path]
    world.land("orders", [person(3, ANN, status="later")])
    taken.append(back_up(world.settings, world.backups).path)
    erase(world.settings, PersonRequest("phone", ANN), has_backups=True)
    forget_request(world.data)
    _is_gone(world)
    _fetch_again(world)
    _is_gone(world)
    for backup in taken:
        shutil.rmtree(world.data)
        world.data.mkdir()
        restore(world.settings, backup)
        _is_gone(world)
    _fetch_again(world)
    _is_gone(world)
    rotate_keys(world.settings, world.place / "new.json")
    world.keys.write_bytes((world.place / "new.json").read_bytes())
    _fetch_again(world)
    _is_gone(world)
