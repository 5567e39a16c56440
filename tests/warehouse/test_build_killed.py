"""A build that is killed at any moment: readers see whole releases, and the run after it ends well."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb
import pytest

from pipelines.record import current_release
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from collections.abc import Iterator

KILLS = 6
SEED = 20261121
ROOT = Path(__file__).resolve().parents[2]

# The build dies just before its n-th change of a name in the folder given, as the kernel would kill it.
CHILD = """
import os, sys
from pathlib import Path
folder, at, seen = sys.argv[2], int(sys.argv[1]), 0
def die(event, args):
    global seen
    if event in {"os.rename", "os.remove", "os.symlink"}:
        named = args[1] if event == "os.symlink" else args[0]
        if os.path.dirname(os.fspath(named)) == folder:
            seen += 1
            if seen == at:
                os._exit(9)
from pipelines.cli import main
sys.addaudithook(die)
sys.argv = ["ordermart", *sys.argv[3:]]
sys.exit(main())
"""
KILLED = 9


@pytest.fixture
def landed(world_of: Any, makers: Any, tmp_path: Path) -> Any:
    """Give a world with stores, a menu and forty orders."""
    world = world_of(tmp_path)
    make_order, make_menu, make_store = makers
    world.land("stores", [{"id": i, "document": make_store(i)} for i in (1, 2)])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    world.land("orders", [_seen(make_order, i, 0) for i in range(1, 41)])
    return world


def _seen(make_order: Any, order_id: int, hour: int) -> dict[str, Any]:
    """Return an observation of an order whose tip says the hour."""
    return {"id": order_id, "at": hour, "document": make_order(order_id, tip=f"{hour}.5"), "customer": f"c{order_id}"}


def _start(world: Any, *flags: str) -> subprocess.Popen[str]:
    """Start `ordermart build` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "build", "--config", str(world.data.parent / "ordermart.toml"), *flags],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(process: subprocess.Popen[str]) -> None:
    said = process.communicate(timeout=240)[1]
    assert process.returncode == 0, said


def _rows(release: Path) -> dict[str, int]:
    """Return how many rows a release has, table by table."""
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as con:
        names = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() "
            "where schema_name in ('core', 'mart', 'audit', 'workings')"
        ).fetchall()
        counted = " union all ".join(f"select '{name}', count(*) from {name}" for (name,) in names)
        return dict(con.execute(counted).fetchall())


class Reader(threading.Thread):
    """Resolves `current` again and again, and counts what it finds there."""

    def __init__(self, published: Path) -> None:
        super().__init__(daemon=True)
        self.published, self.seen, self.broken = published, set[str](), list[str]()
        self._ended = threading.Event()

    def run(self) -> None:
        """Read until told to end; whatever is not a whole release is noted."""
        while not self._ended.is_set():
            try:
                self._read()
            except Exception as error:  # noqa: BLE001 - whatever it is, a reader met it
                self.broken.append(repr(error))
            time.sleep(0.05)

    def _read(self) -> None:
        release = current_release(self.published)
        manifest = read_manifest(release) if release else None
        if release is None or manifest is None:
            self.broken.append(f"{release} is no release")
        elif _rows(release) != manifest.rows or not all((release / file.path).exists() for file in manifest.files):
            self.broken.append(f"{release} is not what its manifest says")
        else:
            self.seen.add(manifest.id)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def _moments() -> Iterator[float]:
    """Yield random shares of the time that a build takes; more than 1 lets it end."""
    chance = random.Random(SEED)
    while True:
        yield chance.uniform(0.1, 1.1)


@pytest.mark.slow
def test_a_release_that_is_not_whole_is_seen(landed: Any) -> None:
    """The reader of these tests notes a release that lacks a file, and one that is not what its manifest says."""
    landed.build()
    publish(landed.settings)
    reader = Reader(landed.data / "published")
    reader._read()
    assert (len(reader.seen), reader.broken) == (1, [])
    release = current_release(reader.published)
    assert release is not None
    next((release / "parquet" / "core" / "orders").rglob("*.parquet")).unlink()
    reader._read()
    with duckdb.connect(str(release / "ordermart.duckdb")) as con:
        con.execute("delete from core.order_lines")
    reader._read()
    assert len(reader.broken) == 2


@pytest.mark.long
def test_kills_at_random_moments(landed: Any, make_order: Any) -> None:
    """Builds are killed at random moments: `current` is always a whole release; the next run equals a rebuild."""
    began = time.monotonic()
    with _start(landed) as process:
        _end(process)
    takes = time.monotonic() - began
    published = landed.data / "published"
    kills = builds = 0
    with Reader(published) as reader:
        for share in _moments():
            builds += 1
            landed.land("orders", [_seen(make_order, 1 + (builds * 7 + i) % 60, builds) for i in range(8)])
            with _start(landed, *(["--full"] if builds % 3 == 0 else [])) as process:
                try:
                    process.wait(takes * share)
                except subprocess.TimeoutExpired:
                    process.kill()
                    kills += 1
                else:
                    _end(process)
            if kills == KILLS:
                break
            assert builds < 5 * KILLS
    assert reader.broken == []
    assert reader.seen
    with _start(landed) as process:
        _end(process)
    release = current_release(published)
    manifest = read_manifest(release) if release else None
    assert release is not None
    assert manifest is not None
    after = landed.contents()
    assert _rows(release) == manifest.rows
    assert manifest.rows.items() <= {name: len(rows) for name, rows in after.items()}.items()
    assert not list((published / "releases").glob(".unfinished-*"))
    assert landed.build(full=True).full
    for table, rows in landed.contents().items():
        assert rows == after[table], table
    assert len(after["core.orders"]) >= 40


@pytest.mark.parametrize(
    ("folder", "each", "flags"),
    [
        pytest.param("published", 9, [], marks=pytest.mark.slow),
        pytest.param("published", 1, [], marks=pytest.mark.long),
        pytest.param("warehouse", 1, ["--full"], marks=pytest.mark.long),
    ],
)
def test_kills_at_the_switch(landed: Any, make_order: Any, folder: str, each: int, flags: list[str]) -> None:
    """Killed before any renaming, linking or removing where it switches, or before each third one."""
    with _start(landed) as process:
        _end(process)
    published = landed.data / "published"
    config = ("build", "--config", str(landed.data.parent / "ordermart.toml"), *flags)
    for at in range(1, 40, each):
        landed.land("orders", [_seen(make_order, 1 + at, at)])
        ended = subprocess.run(
            [sys.executable, "-c", CHILD, str(at), str(landed.data / folder), *config], cwd=ROOT, check=False
        )
        release = current_release(published)
        manifest = read_manifest(release) if release else None
        assert release is not None, at
        assert manifest is not None, at
        assert _rows(release) == manifest.rows, at
        assert all((release / file.path).exists() for file in manifest.files), at
        if ended.returncode == 0:
            break
        assert ended.returncode == KILLED
    assert at > 1
    assert ended.returncode == 0
