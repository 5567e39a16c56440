"""A full build whose buckets are made elsewhere, out of files alone, gives what one in this process gives."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.engines import EngineError
from pipelines.landing.raw_folder import raw_files
from pipelines.settings.kinds import KINDS
from pipelines.warehouse import catalogue
from pipelines.warehouse.building import buckets as parts
from pipelines.warehouse.building.buckets import spans_of_files
from pipelines.warehouse.building.build import rebuild, warehouse_file
from pipelines.warehouse.inputs.sources import create_sources, states
from pipelines.warehouse.rows.fresh_rows import BuildBlocked
from pipelines.warehouse.rows.session import Memory, fingerprint_of, profiled, session
from tests.histories import history, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Self

    from pipelines.settings import Settings
    from pipelines.warehouse.rows.fresh_rows import BuildResult, CheckResult
    from pipelines.warehouse.rows.session import Profile
    from tests.warehouse.conftest import World

BUCKETS = 2
HISTORY = history(1)[:-1]  # edits, refusals and a close, without the last build


class LastFirst:
    """An engine of one process that sends values as a cluster would, begins at the end, and runs the last one twice."""

    def __init__(self, lost: int = 0, memory_bytes: int = 500_000_000) -> None:
        self.lost = lost  # tasks of which nothing is heard
        self.memory_bytes = memory_bytes
        self.sent: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def width(self) -> int:
        """Return how many it is said to run at once."""
        return 2

    def map(self, function: Callable[[Any], Any], values: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run the function for each value that is not lost."""
        self.sent += values
        function(values[-1])
        for place in reversed(range(self.lost, len(values))):
            yield place, pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(values[place])))))  # noqa: S301


def build_on(engine: LastFirst, settings: Settings, file: Path, buckets: int = BUCKETS) -> list[CheckResult]:
    """Build everything into a file by an engine."""
    raw = {kind: raw_files(settings.data_dir, kind) for kind in KINDS}
    with session(settings) as con:
        create_sources(con, settings)
        memory = Memory(fingerprint_of(settings), states(settings))
        return rebuild(con, file, raw, memory, buckets, 1, lambda *_: None, engine).results


def difference(one: Path, other: Path) -> list[str]:
    """Return the tables of which columns, types or rows differ between two warehouse files."""
    differing = []
    with duckdb.connect() as con:
        con.execute(f"attach '{one}' as one (read_only)")
        con.execute(f"attach '{other}' as other (read_only)")
        for name in [*(table.name for table in catalogue.tables()), "build.states"]:
            columns = [con.execute(f"describe {side}.{name}").fetchall() for side in ("one", "other")]
            sides = f"from one.{name}", f"from other.{name}"
            rows = " union all ".join(f"({left} except all {right})" for left, right in (sides, sides[::-1]))
            if columns[0] != columns[1] or con.execute(f"select 1 from ({rows}) limit 1").fetchall():
                differing.append(name)
    return differing


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, BuildResult]:
    """Return the world that a history left, and its full build in this process."""
    world, _ = run(HISTORY, tmp_path_factory.mktemp("lived"))
    return world, world.build(full=True)


@pytest.fixture(scope="module")
def elsewhere(
    lived: tuple[World, BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, LastFirst, list[CheckResult], Profile]:
    """Return the file of the same world's full build by an engine, the engine, what was found and what it cost."""
    engine, file = LastFirst(), tmp_path_factory.mktemp("elsewhere") / "other.duckdb"
    with profiled() as profile:
        found = build_on(engine, lived[0].settings, file)
    return file, engine, found, profile


@pytest.mark.slow
def test_buckets_made_elsewhere_give_the_same_tables(
    lived: tuple[World, BuildResult], elsewhere: tuple[Path, LastFirst, list[CheckResult], Profile]
) -> None:
    """Rows, types and what checks found are the same; a part that is made twice counts once; nothing is left."""
    (world, here), (file, engine, found, profile) = lived, elsewhere
    assert difference(warehouse_file(world.data), file) == []
    numbers = [(stage, number) for stage in range(3) for number in range(1, BUCKETS + 1)]
    assert [(part.stage, part.bucket.number) for part in engine.sent] == numbers
    assert all(part.documents for part in engine.sent if part.stage == 0)
    assert {each.name: each.violations for each in here.checks} == {each.name: each.violations for each in found}
    assert profile["core.orders"].cpu_ns > 0
    assert [each.name for each in file.parent.iterdir()] == ["other.duckdb"]


@pytest.mark.slow
def test_a_difference_is_seen(
    lived: tuple[World, BuildResult], elsewhere: tuple[Path, LastFirst, list[CheckResult], Profile], tmp_path: Path
) -> None:
    """A row that is not there, a type that is another one: the comparison of this file names the tables."""
    file = tmp_path / "other.duckdb"
    shutil.copy(elsewhere[0], file)
    with duckdb.connect(str(file)) as con:
        con.execute("delete from core.order_lines where rowid = (select min(rowid) from core.order_lines)")
        con.execute("alter table core.stores alter store_id type integer")
    assert difference(warehouse_file(lived[0].data), file) == ["core.stores", "core.order_lines"]


@pytest.mark.slow
def test_a_part_reads_only_files_of_its_range(lived: tuple[World, BuildResult]) -> None:
    """The least and the greatest id of each file are those of its rows."""
    paths = [file.path for file in raw_files(lived[0].data, "orders").documents if file.path.exists()]
    with duckdb.connect() as con:
        spans = spans_of_files(con, paths)
        found = [con.execute(f"select min(id), max(id) from '{path}'").fetchone() for path in paths]
    assert len({span[1:] for span in spans}) > 1
    filled = [(span, ids) for span, ids in zip(spans, found, strict=True) if ids != (None, None)]
    assert [(low, high) for (_, low, high), _ in filled] == [ids for _, ids in filled]


@pytest.mark.slow
def test_a_lost_bucket_is_missed(lived: tuple[World, BuildResult], tmp_path: Path) -> None:
    """A bucket of which nothing was heard ends the build; no file, no part of one is left."""
    with pytest.raises(EngineError, match=f"1 of {BUCKETS} buckets were not made, the first is 1"):
        build_on(LastFirst(lost=1), lived[0].settings, tmp_path / "other.duckdb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_part_without_enough_memory_ends_the_build(lived: tuple[World, BuildResult], tmp_path: Path) -> None:
    """What DuckDB raises elsewhere is raised here, so that a build goes in smaller parts; nothing is left."""
    with pytest.raises(duckdb.OutOfMemoryException):
        build_on(LastFirst(memory_bytes=1_000_000), lived[0].settings, tmp_path / "other.duckdb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_blocking_check_blocks(world: World, make_order: Any, tmp_path: Path) -> None:
    """What a blocking check finds in a bucket elsewhere is raised here, with its sample; nothing is left."""
    world.land("orders", [{"id": 1, "document": make_order(1), "gate": {"lines": 9}}])
    with pytest.raises(BuildBlocked) as blocked:
        build_on(LastFirst(), world.settings, tmp_path / "other.duckdb")
    assert [(each.name, each.sample[0]["entity_id"]) for each in blocked.value.failed] == [
        ("core.orders__match_validation", 1)
    ]
    assert not list(tmp_path.glob("other*"))


@pytest.mark.slow
def test_a_node_that_differs_refuses(elsewhere: tuple[Path, LastFirst, list[CheckResult], Profile]) -> None:
    """A node with another version, or without the folder, says so and makes nothing."""
    part = elsewhere[1].sent[0]
    with pytest.raises(EngineError, match="must be a folder that all nodes have at the same path"):
        parts.build_part(part)
    here = elsewhere[0]  # any file that is there
    other = replace(part, draft=here, given=here, code=part.code | {"DuckDB": "0"})
    with pytest.raises(EngineError, match=r"runs another version \(other: DuckDB\)"):
        parts.build_part(other)
