"""Readers that resolve `current` once see one release, whole, however many are published meanwhile."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest

from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from pathlib import Path

KEPT = 5
READERS = 4


def stamp(world: Any, number: int) -> None:
    """Make the warehouse another one, whose stores are all named by a number, as cheaply as can be."""
    with duckdb.connect(str(warehouse_file(world.data))) as con:
        con.execute("update core.stores set name = ?", [str(number)])
        con.execute("update build.months set changed_in = ? where table_name = 'core.stores'", [str(number)])
        con.execute("update build.memory set commit_id = ?", [str(number)])


def read_all(release: Path, *, is_thorough: bool) -> set[str]:
    """Return all numbers that a release shows: in manifest and Parquet; if thorough in its DuckDB file, sizes too."""
    manifest = read_manifest(release)
    assert manifest is not None
    assert manifest.id == release.name
    found = {manifest.commit}
    for path in sorted((release / "parquet" / "core" / "stores").rglob("*.parquet")):
        found.update(pq.read_table(path, columns=["name"]).column(0).to_pylist())
    if is_thorough:
        assert all((release / file.path).stat().st_size == file.bytes for file in manifest.files)
        with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True, config={"threads": 1}) as con:
            found.update(name for (name,) in con.execute("select distinct name from core.stores").fetchall())
    return found


class Readers:
    """Threads that share the opens out evenly over the releases, so that they leave the publisher its time."""

    def __init__(self, published: Path, releases: int, opens: int) -> None:
        self._current = published / "current"
        self._releases, self._wanted = releases, opens
        self._lock = threading.Lock()
        self.number = 0  # of the release that is current
        self.opens = 0

    def read(self, seed: int) -> int:
        """Open releases until there were enough; a slow reader's wait ends before its release may be removed."""
        rng, late = random.Random(seed), 0
        while self._takes_one():
            first = self.number
            release = self._current.resolve()
            if rng.random() < 0.01 and first < self._releases - KEPT:  # a slow reader
                while self.number < first + KEPT - 3:
                    time.sleep(0.01)
                late += 1
            shown = read_all(release, is_thorough=rng.random() < 0.1)
            assert len(shown) == 1, shown
            assert first - 1 <= int(shown.pop()) <= self.number + 1
        return late

    def _takes_one(self) -> bool:
        """Count an open once it is its turn; tell whether there was one left."""
        while True:
            with self._lock:
                if self.opens == self._wanted:
                    return False
                if self.opens < (self.number + 1) * self._wanted // (self._releases + 1):
                    self.opens += 1
                    return True
            time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("releases", "opens"),
    [
        (5, 60),
        pytest.param(15, 1_500, marks=pytest.mark.long),
        pytest.param(100, 10_000, marks=pytest.mark.long),
    ],
)
def test_readers_see_one_release_whole(world_of: Any, makers: Any, tmp_path: Path, releases: int, opens: int) -> None:
    """Opens, every tenth of all its files, over many releases in a row: no error, and never a mix."""
    make_order, _, make_store = makers
    world = world_of(tmp_path, ORDERMART_WAREHOUSE__KEEP_RELEASES=str(KEPT))
    world.land("stores", [{"id": number, "document": make_store(number)} for number in (1, 2)])
    world.land("orders", [{"id": 1, "document": make_order(1)}])
    world.build()
    stamp(world, 0)
    publish(world.settings)
    readers = Readers(world.data / "published", releases, opens)
    with ThreadPoolExecutor(READERS) as pool:
        running = [pool.submit(readers.read, seed) for seed in range(READERS)]
        try:
            for number in range(1, releases + 1):
                stamp(world, number)
                publish(world.settings)
                readers.number = number
        finally:
            readers.number = releases  # whatever came, no reader waits for more
        slow = sum(each.result() for each in running)
    assert slow > 0 or opens < 1_000
    assert readers.opens == opens
    assert len(list((world.data / "published" / "releases").iterdir())) == KEPT
    assert read_all((world.data / "published" / "current").resolve(), is_thorough=True) == {str(releases)}
