"""Build the same orders straight into the warehouse, and by parts that go through files, in one process each.

    python benchmarks/engines.py [--orders 100000] [--buckets 4] [--memory 850] [--ways here parts ray]

The second way is what nodes of a cluster do, one part after the other; what an engine adds (starting workers, sending
results) is not in it. The third needs the extra ray: a cluster of two nodes with a processor each is started on this
machine, in a network namespace of its own, and tables are compared with those of the first; `--memory 500` at most.
CPU seconds are of the whole process and by step: `stage N` is what nodes do, the rest is done by
one process, whatever the cluster. Peak memory is of one bucket's step.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.raw_world import LEAST_MEMORY, make_raw  # noqa: E402 - found through the path above
from pipelines.engines import RayCluster  # noqa: E402
from pipelines.landing.raw_folder import raw_files  # noqa: E402
from pipelines.settings import load_settings  # noqa: E402
from pipelines.settings.kinds import KINDS  # noqa: E402
from pipelines.warehouse.building.buckets import stages  # noqa: E402
from pipelines.warehouse.building.build import rebuild  # noqa: E402
from pipelines.warehouse.inputs.sources import create_sources, states  # noqa: E402
from pipelines.warehouse.rows.session import DOCUMENTS, Memory, fingerprint_of, profiled, session  # noqa: E402  # noqa: E402
from tests.ray_cluster import ADDRESS, Cluster  # noqa: E402
from tests.warehouse.test_spread import difference  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from pipelines.engines import Engine

_SECOND, _MIB = 10**9, 1 << 20


class InTurn:
    """An engine of this process: one part after the other."""

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def width(self) -> int:
        """Return 1."""
        return 1

    def map(self, function: Callable[[Any], Any], values: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run the function for each value."""
        for place, value in enumerate(values):
            yield place, function(value)
        written = sum(file.stat().st_size for file in values[0].folder.glob("*.parquet"))
        print(f"stage {values[0].stage}: {written / _MIB:,.0f} MiB of Parquet")


def build(folder: Path, way: str, buckets: int, memory: int) -> None:
    """Build once, and print what it took."""
    settings = load_settings(folder / "ordermart.toml")
    raw = {kind: raw_files(settings.data_dir, kind) for kind in KINDS}
    engine: Engine | None = InTurn(memory * 10**6) if way == "parts" else None
    if way == "ray":
        engine = RayCluster(ADDRESS, f"{memory}MB", needs_token=True)
    began = time.perf_counter()
    with session(settings) as con, profiled() as profile:
        create_sources(con, settings)
        now = Memory(fingerprint_of(settings), states(settings))
        file = folder / f"{way}.duckdb"
        rebuild(con, file, raw, now, buckets, 1, lambda *_: None, engine)
    used = resource.getrusage(resource.RUSAGE_SELF)
    whole, taken = used.ru_utime + used.ru_stime, time.perf_counter() - began
    print(f"{way}: {whole:.1f} s of CPU, {taken:.1f} s elapsed, a file of {file.stat().st_size / _MIB:,.0f} MiB")
    names = {each.name: f"stage {stage.number}" for stage in stages() for each in (*stage.tables, *stage.checks)}
    names[DOCUMENTS] = "stage 0"
    seconds: dict[str, float] = defaultdict(float)
    peaks: dict[str, int] = defaultdict(int)
    for name, cost in profile.items():
        step = names.get(name, name if name.startswith("(") else "tables and checks over all orders")
        seconds[step] += cost.cpu_ns / _SECOND
        peaks[step] = max(peaks[step], cost.peak)
    for step in sorted(seconds):
        print(f"  {step:36}{seconds[step]:8.2f} s{peaks[step] / _MIB:9,.0f} MiB")
    if way != "ray":  # there, most of it is of other processes
        print(f"  {'start, views, commit':36}{whole - sum(seconds.values()):8.2f} s", flush=True)


def main() -> None:
    """Make the raw files, and build them each way in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--buckets", type=int, default=4)
    parser.add_argument("--memory", type=int, default=850, help="DuckDB's in each part, in MB")
    parser.add_argument("--ways", nargs="*", choices=["here", "parts", "ray"], default=["here", "parts"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs=2, metavar=("FOLDER", "WAY"), help=argparse.SUPPRESS)  # the process of its own
    given = parser.parse_args()
    if given.only:
        build(Path(given.only[0]), given.only[1], given.buckets, given.memory)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        make_raw(Path(name) / "data", given.orders)
        (Path(name) / "ordermart.toml").write_text(LEAST_MEMORY, encoding="utf-8")
        same = [sys.executable, __file__, "--buckets", str(given.buckets), "--memory", str(given.memory)]
        for way in given.ways:
            if way == "ray":
                with Cluster() as cluster:
                    print(cluster.run(*same, "--only", name, way).stdout)
                print("tables that differ:", difference(Path(name) / "here.duckdb", Path(name) / "ray.duckdb"))
                continue
            subprocess.run([*same, "--only", name, way], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


if __name__ == "__main__":
    main()
