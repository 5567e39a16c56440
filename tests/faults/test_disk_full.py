"""A full disk: one sentence that says what failed and what to free; with room again, the next build goes on."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.durable import DiskFullError, disk_full, naming_a_full_disk
from pipelines.ingest.lock import lock_holder, run_lock
from pipelines.warehouse.building.build import SPACE_OF_FULL, SPACE_OF_INCREMENT, needed_bytes, warehouse_file
from pipelines.warehouse.release.release import publish
from tests.warehouse.conftest import World, order

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Give a file system of 40 MB, or of the test's size; without the right to mount one, skip."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={getattr(request, 'param', 40)}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own may not be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_full_disk_is_one_sentence_and_the_next_build_goes_on(small_disk: Path) -> None:
    """Build and release say it alike; the last release stays; what was landed is built once there is room."""
    world = World(small_disk / "world")
    world.land("orders", [{"id": each, "document": order(each)} for each in range(1, 5)])
    filler = small_disk / "filler"
    filler.write_bytes(bytes(36 << 20))
    with pytest.raises(DiskFullError, match="MiB are free, more is needed"):
        world.build()
    filler.unlink()
    world.build()
    filler.write_bytes(bytes(20 << 20))
    with pytest.raises(DiskFullError, match=r"a build and its release take about \d+ MiB"):
        publish(world.settings)
    assert list((world.data / "published" / "releases").iterdir()) == []  # its draft would keep the disk full
    filler.unlink()
    assert not (world.data / "published" / "current").exists()
    release = publish(world.settings)
    assert release.rows["core.orders"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("small_disk", [64], indirect=True)
def test_a_build_without_room_does_not_begin(small_disk: Path) -> None:
    """What a build needs is known before it: with less room it stops at once, says both figures and writes nothing."""
    world = World(small_disk / "world")
    world.land("orders", [{"id": each, "document": order(each)} for each in range(1, 5)])
    world.build()
    world.land("orders", [{"id": 5, "document": order(5)}])
    size = warehouse_file(world.data).stat().st_size
    filler = small_disk / "filler"
    free = shutil.disk_usage(small_disk).free
    for full, times in ((False, SPACE_OF_INCREMENT), (True, SPACE_OF_FULL)):
        needed = needed_bytes(warehouse_file(world.data), (), full=full)
        assert needed == times * size
        filler.write_bytes(bytes(free - needed + (1 << 16)))
        with pytest.raises(DiskFullError, match=rf"need about {needed // (1 << 20) + 1:,} MiB .* nothing was built"):
            world.build(full=full)
        filler.unlink()
    assert not list((world.data / "warehouse").glob("*.building"))
    assert world.build().rows["core.orders"] == 5


def test_run_on_a_disk_without_free_space_says_so(small_disk: Path) -> None:
    """Not even the note of who holds the run lock can be written: that is the same sentence, and the lock is free."""
    data = small_disk / "data"
    with run_lock(data, "a test"):
        pass
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    with contextlib.suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1))
    with pytest.raises(DiskFullError, match="is full"), run_lock(data, "a test"):
        pytest.fail("it ran")
    filler.unlink()
    with run_lock(data, "a test"):
        assert lock_holder(data)


def test_full_device_is_recognised(tmp_path: Path) -> None:
    """The error of a device that is full becomes the sentence; any other error stays what it is."""
    with (
        pytest.raises(DiskFullError, match="No space left on device"),
        naming_a_full_disk(tmp_path),
        Path("/dev/full").open("wb", buffering=0) as device,
    ):
        device.write(b"x")
    with pytest.raises(FileNotFoundError), naming_a_full_disk(tmp_path):
        (tmp_path / "none").read_bytes()
    assert disk_full("database or disk is full", tmp_path)
    assert disk_full("Could not write file: No space left on device", tmp_path)
    assert not disk_full("IO Error: Corrupt database file", tmp_path)
