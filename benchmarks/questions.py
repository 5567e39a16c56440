"""Measure how long each example query takes on a release.

    python benchmarks/questions.py [RELEASE] [--limit 0.3] [--repeats 3]
    python benchmarks/questions.py --orders 100000 [--copies 10]

RELEASE is the folder of a release, by default data/published/current; with --orders a world of so many orders is made
and published, and with --copies its year is copied to so many, by order and by day. Prints the median time of each
query, slowest first, and ends with 1 if one takes longer than the limit. With copies it prints the time before them
too, so that a query whose work grows with all orders is seen.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.history import add_years  # noqa: E402 - found through the path above
from benchmarks.raw_world import make_raw  # noqa: E402
from pipelines.read import connect  # noqa: E402
from pipelines.warehouse.catalogue.meta_tables import examples  # noqa: E402
from pipelines.warehouse.catalogue.tables import release_tables  # noqa: E402
from pipelines.warehouse.release.manifest import DATABASE  # noqa: E402

_SETTINGS = '[sales]\ncounted_statuses = ["delivered"]\nexcluded_statuses = ["cancelled"]\n'


def published(folder: Path, orders: int) -> Path:
    """Make and publish a world of so many orders; return the folder of its release."""
    make_raw(folder / "data", orders)
    (folder / "ordermart.toml").write_text(_SETTINGS, encoding="utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "build", "--config", str(folder / "ordermart.toml")]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return (folder / "data" / "published" / "current").resolve()


def copied(folder: Path, release: Path, orders: int, copies: int) -> Path:
    """Return a folder with a copy of the release's file in which the tables of the examples have so many years."""
    folder.mkdir()
    (folder / DATABASE).write_bytes((release / DATABASE).read_bytes())
    with duckdb.connect(str(folder / DATABASE)) as con:
        needed = {name for example in examples() for name in example.tables}
        add_years(con, [table for table in release_tables() if table.name in needed], orders, copies)
    return folder


def measured(release: Path, repeats: int) -> tuple[int, dict[str, float]]:
    """Return the number of orders of a release, and the median seconds of each example."""
    found = {}
    with connect(release) as con:
        ((orders,),) = con.execute("select count(*) from core.orders").fetchall()
        for name, query in con.execute("select example_name, query from meta.examples").fetchall():
            times = []
            for _ in range(repeats):
                started = time.perf_counter()
                con.execute(query).fetchall()
                times.append(time.perf_counter() - started)
            found[name] = statistics.median(times)
    return orders, found


def report(orders: int, found: dict[str, float], limit: float, before: dict[str, float]) -> int:
    """Print the times, and those before copying; return how many are above the limit."""
    for name, seconds in sorted(found.items(), key=lambda each: -each[1]):
        print(f"{seconds:8.3f} s  {name}" + (f"  ({before[name]:.3f} s before)" if name in before else ""))
    slow = [name for name, seconds in found.items() if seconds > limit]
    print(f"{len(found)} queries on {orders:,} orders, {len(slow)} above {limit} s: {', '.join(slow) or 'none'}")
    return len(slow)


def main() -> int:
    """Run every query of meta.examples; return an exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("release", nargs="?", type=Path, default=ROOT / "data" / "published" / "current")
    parser.add_argument("--limit", type=float, default=0.3, help="seconds")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--orders", type=int, help="make a world of so many")
    parser.add_argument("--copies", type=int, default=1, help="how many years of it")
    asked = parser.parse_args()
    if not asked.orders:
        return int(report(*measured(asked.release.resolve(), asked.repeats), asked.limit, {}) > 0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        release = published(folder, asked.orders)
        orders, found = measured(release, asked.repeats)
        slow = report(orders, found, asked.limit, {})
        if asked.copies > 1:
            years = copied(folder / "copied", release, asked.orders, asked.copies)
            slow = report(*measured(years, asked.repeats), asked.limit, found)
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
