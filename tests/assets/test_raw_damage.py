"""Raw files damaged after they were built: no build goes on without them, and the last release stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.finance.closing import build_and_record
from pipelines.landing.raw_folder import RawDamageError, raw_files
from pipelines.warehouse.release.release import publish
from tests.warehouse.conftest import World, menu, order, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _lose(path: Path) -> None:
    path.unlink()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a data folder with a load of each kind, built and published."""
    world = World(tmp_path_factory.mktemp("built"))
    world.land("orders", [{"id": each, "document": order(each)} for each in (1, 2)])
    world.land("menus", [{"id": 1, "document": menu(1)}])
    world.land("stores", [{"id": 1, "document": store(1)}])
    build_and_record(world.settings)
    publish(world.settings)
    return world


@pytest.mark.slow
@pytest.mark.parametrize("damage", [_cut, _lose])
@pytest.mark.parametrize("area", ["documents", "observations"])
@pytest.mark.parametrize("kind", ["orders", *(pytest.param(k, marks=pytest.mark.long) for k in ("menus", "stores"))])
def test_damage_after_a_build_stops_the_next_one(
    built: World, kind: str, area: str, damage: Callable[[Path], None]
) -> None:
    """A file of any kind, cut or lost later: no build goes on without it, an increment or a full one."""
    path: Path = getattr(raw_files(built.data, kind), area)[0].path
    content, release = path.read_bytes(), (built.data / "published" / "current").resolve()
    damage(path)
    try:
        for full in (False, True):
            with pytest.raises(RawDamageError, match=f"raw/{area}/{kind}/{path.name} .*estore them from a backup"):
                built.build(full=full)
    finally:
        path.write_bytes(content)
    assert (built.data / "published" / "current").resolve() == release
    assert not built.build().changed


@pytest.mark.slow
def test_altered_file_of_the_last_build_is_found_by_a_full_one(built: World) -> None:
    """Of the same size, it is found when all of raw is read."""
    path = raw_files(built.data, "orders").documents[0].path
    content = path.read_bytes()
    _alter(path)
    try:
        with pytest.raises(RawDamageError, match=f"{path.name} .other content"):
            built.build(full=True)
    finally:
        path.write_bytes(content)
    assert not built.build().changed
