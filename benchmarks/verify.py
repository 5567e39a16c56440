"""Measure what `ordermart verify` costs: a nightly part of the orders, a business day, and everything.

    python benchmarks/verify.py --orders 1000000 [--all]
    python benchmarks/verify.py --data FOLDER/data

Without `--data`, raw files of so many orders are made, built and published first, as benchmarks/raw_world.py does.
"""

from __future__ import annotations

import argparse
import datetime as dt
import resource
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.raw_world import make_raw  # noqa: E402 -- found by then
from pipelines.settings import load_settings  # noqa: E402
from pipelines.warehouse.building.build import build  # noqa: E402
from pipelines.warehouse.release.release import publish  # noqa: E402
from pipelines.warehouse.verify import verify_all, verify_days, verify_next  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.warehouse.verify import Verification


def measure(data: Path, threads: int, *, everything: bool) -> None:
    """Print CPU and elapsed seconds of each way to verify."""
    settings = load_settings(data.parent / "ordermart.toml", {"ORDERMART_WAREHOUSE__THREADS": str(threads)})
    ways: list[tuple[str, Callable[[], Verification]]] = [
        ("a rotating 1/64, without a time limit", lambda: verify_next(settings, Fraction(1, 64))),
        ("a rotating 1/64 within 30 s", lambda: verify_next(settings, Fraction(1, 64), dt.timedelta(seconds=30))),
        ("the last business day", lambda: verify_days(settings, 1)),
    ]
    if everything:
        ways.append(("everything", lambda: verify_all(settings)))
    for name, verify in ways:
        cpu, wall = time.process_time(), time.perf_counter()
        done = verify()
        print(
            f"  {name:40} {done.parts} parts, {done.orders:,} orders: CPU {time.process_time() - cpu:7.1f} s, "
            f"elapsed {time.perf_counter() - wall:7.1f} s, {len(done.differences)} differences",
            flush=True,
        )
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB, the build included")


def main() -> None:
    """Measure a data folder, or one that is made for it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--orders", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--all", action="store_true", dest="everything")
    asked = parser.parse_args()
    if asked.data:
        measure(asked.data.resolve(), asked.threads, everything=asked.everything)
        return
    with tempfile.TemporaryDirectory(prefix="ordermart-") as folder:
        data = Path(folder) / "data"
        (data.parent / "ordermart.toml").write_text("", encoding="utf-8")
        make_raw(data, asked.orders)
        settings = load_settings(data.parent / "ordermart.toml", {"ORDERMART_WAREHOUSE__THREADS": str(asked.threads)})
        publish(settings, build(settings))
        print(f"{asked.orders:,} orders", flush=True)
        measure(data, asked.threads, everything=asked.everything)


if __name__ == "__main__":
    main()
