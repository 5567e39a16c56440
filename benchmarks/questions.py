"""Measure how long each example query takes on a release.

    python benchmarks/questions.py [RELEASE] [--limit 0.3] [--repeats 3]

RELEASE is the folder of a release, by default data/published/current. Prints the median time of each query, slowest
first, and ends with 1 if one takes longer than the limit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipelines.read import connect  # noqa: E402 - found through the path above


def main() -> int:
    """Run every query of meta.examples; return an exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("release", nargs="?", default=str(ROOT / "data" / "published" / "current"))
    parser.add_argument("--limit", type=float, default=0.3, help="seconds")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with connect(Path(asked.release).resolve()) as con:
        ((orders,),) = con.execute("select row_count from meta.tables where table_name = 'core.orders'").fetchall()
        found = []
        for name, query in con.execute("select example_name, query from meta.examples").fetchall():
            times = []
            for _ in range(asked.repeats):
                started = time.perf_counter()
                con.execute(query).fetchall()
                times.append(time.perf_counter() - started)
            found.append((statistics.median(times), name))
    for seconds, name in sorted(found, reverse=True):
        print(f"{seconds:8.3f} s  {name}")
    slow = [name for seconds, name in found if seconds > asked.limit]
    print(f"{len(found)} queries on {orders:,} orders, {len(slow)} above {asked.limit} s")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
