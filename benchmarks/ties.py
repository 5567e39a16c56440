"""Measure what it costs to tie out totals over all rows of a warehouse, in CPU seconds.

    python benchmarks/ties.py --data FOLDER/data [--times 3]
    python benchmarks/ties.py --orders 1000000

Without `--data`, raw files of so many orders are made and built first, as benchmarks/raw_world.py does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.raw_world import make_raw  # noqa: E402 -- found by then
from pipelines.settings import load_settings  # noqa: E402
from pipelines.warehouse.building.build import build, warehouse_file  # noqa: E402
from pipelines.warehouse.catalogue import ties  # noqa: E402
from pipelines.warehouse.rows.fresh_rows import violations  # noqa: E402
from pipelines.warehouse.rows.session import attached, session  # noqa: E402


def measure(data: Path, times: int, threads: int) -> None:
    """Print the least CPU seconds of each tie and of all, out of so many times."""
    settings = load_settings(data.parent / "ordermart.toml", {"ORDERMART_WAREHOUSE__THREADS": str(threads)})
    with session(settings) as con, attached(con, warehouse_file(data)):
        orders = con.execute("select count(*) from warehouse.core.orders").fetchone()
        print(f"{orders[0] if orders else 0:,} orders")
        con.execute("use warehouse")
        total = 0.0
        for tie in ties():
            taken = []
            for _ in range(times):
                started = time.process_time()
                found = con.execute(f"select count(*) from {violations(tie)}").fetchone()
                taken.append(time.process_time() - started)
            total += min(taken)
            print(f"  {tie.name:52} CPU {min(taken):6.2f} s, {found[0] if found else 0} violations")
        print(f"  {'all':52} CPU {total:6.2f} s")
        con.execute("use memory")


def main() -> None:
    """Measure a data folder, or one that is made for it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    if asked.data:
        measure(asked.data.resolve(), asked.times, asked.threads)
        return
    with tempfile.TemporaryDirectory(prefix="ordermart-") as folder:
        data = Path(folder) / "data"
        (data.parent / "ordermart.toml").write_text("", encoding="utf-8")
        make_raw(data, asked.orders)
        build(load_settings(data.parent / "ordermart.toml", {}))
        measure(data, asked.times, asked.threads)


if __name__ == "__main__":
    main()
