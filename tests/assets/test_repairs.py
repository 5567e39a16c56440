"""A repair before a run: it leaves alone what others only have open, and what it publishes counts as the run's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from pipelines.finance.closing import build_and_record
from pipelines.record import WEBHOOKS
from pipelines.run.steps import heal
from pipelines.warehouse.building.build import unreadable, warehouse_file
from pipelines.warehouse.release.manifest import DATABASE
from pipelines.warehouse.release.release import publish
from pipelines.warehouse.storage import NotOpenedError
from tests.warehouse.conftest import World, order

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Place


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a data folder with an order, built and published."""
    world = World(tmp_path_factory.mktemp("repairs") / "world")
    world.land("orders", [{"id": 1, "document": order(1)}])
    heal(world.settings)
    build_and_record(world.settings)
    publish(world.settings)
    return world


@pytest.fixture
def world(template: World, tmp_path: Path) -> World:
    """Give a copy of that data folder."""
    return template.copied(tmp_path / "world")


def _release(world: World) -> Path:
    return (world.data / "published" / "current").resolve()


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    """Have another process read a database file during the block; give its number."""
    code = "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=True); print('open', flush=True); input()"
    command = [sys.executable, "-c", code, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"open\n"
        yield reader.pid
        reader.communicate(b"\n")


@pytest.mark.long
def test_release_that_somebody_reads_is_left_alone(world: World) -> None:
    """A reader's open release is no damage, and what a run for webhooks left unpublished stays so; damage is found."""
    world.land("orders", [{"id": 9, "document": order(9)}])
    world.build()
    release = _release(world)
    with _opened(release / DATABASE):
        assert heal(world.settings) == []
        assert _release(world) == release
        (release / DATABASE).chmod(0o644)
        (release / DATABASE).write_bytes(os.urandom((release / DATABASE).stat().st_size))
        assert unreadable(release / DATABASE)


@pytest.mark.slow
def test_warehouse_that_another_program_has_open_is_not_damaged(world: World) -> None:
    """A build says which program has the warehouse open and leaves the file; it works once that is closed."""
    world.land("orders", [{"id": 9, "document": order(9)}])
    file = warehouse_file(world.data)
    with _opened(file) as number:
        assert heal(world.settings) == []
        with pytest.raises(NotOpenedError, match=f"was left as it is: .*PID {number}.*Close it in that program"):
            build_and_record(world.settings)
    assert [each.name for each in file.parent.glob("*.damaged-*")] == []
    assert not build_and_record(world.settings).full


@pytest.mark.slow
def test_room_is_made_before_a_night(world: World) -> None:
    """What fewer kept releases and a killed publication leave is removed before a build asks for room."""
    release = _release(world)
    older, left = release.with_name("20200101T000000000000-aaaaaa"), release.with_name(".unfinished-b")
    for folder in (older, left):
        shutil.copytree(release, folder)
    settings = world.settings
    heal(settings, kind=WEBHOOKS)
    assert older.exists()
    settings = replace(settings, warehouse=replace(settings.warehouse, keep_releases=1))
    heal(settings)
    assert list(release.parent.iterdir()) == [release]


@pytest.mark.slow
def test_what_a_repair_publishes_counts_as_the_runs(place: Place) -> None:
    """A document that was refused before the warehouse was lost is new to the run whose repair publishes it."""
    assert place.command("run", "--order-id-range", "100-105").returncode in (0, 3)
    bad = place.folder / "bad.ndjson"
    bad.write_text('{"id": 1, "total_price": "a text"}\n', encoding="utf-8")
    assert place.command("land", "orders", str(bad)).returncode == 3
    warehouse_file(place.data).unlink()
    done = place.command("run", "--due")
    assert "The warehouse file was missing" in done.stdout
    assert done.returncode == 3, done.stdout + done.stderr
    assert "new_failures" in (place.data / "notify" / "alarms.json").read_text()
