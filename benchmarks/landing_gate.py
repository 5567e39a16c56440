"""Measure how many orders per second one core lands: validation, encryption, hashing, indexing and writing.

Generates orders from a seed (the sandbox, no faults), pins itself to one core, and prints orders per second and, as
machines differ, ratios to parsing alone in the same run. The first load has new orders, the second the same unchanged.

    python benchmarks/landing_gate.py [--orders 100000] [--seed 1]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.landing.load import Load
from pipelines.sandbox.world import Config, World
from pipelines.settings import load_settings
from pipelines.vault import new_key_file, open_vault

if TYPE_CHECKING:
    from collections.abc import Callable

WANTED = 7_500


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Run `work` and return its wall clock and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    world = World(Config(seed=arguments.seed, orders=arguments.orders, days=90))
    bodies = [body for _, _, body in world.orders()]
    size = sum(map(len, bodies))
    print(f"{len(bodies):,} orders, {size / len(bodies):,.0f} bytes each, {len(os.sched_getaffinity(0))} core")
    pa.array([1])  # pyarrow imports pandas once: not part of the measurement

    decode = msgspec.json.Decoder().decode

    def parse() -> None:
        for body in bodies:
            decode(body)

    _floor_wall, floor_cpu = timed(parse)
    print(f"{'parsing alone':28}{len(bodies) / floor_cpu:>10,.0f} orders/s   1.0")
    with tempfile.TemporaryDirectory() as folder:
        new_key_file(Path(folder) / "keys.json")
        file = Path(folder) / "ordermart.toml"
        file.write_text("", encoding="utf-8")
        settings = load_settings(file, environ={"ORDERMART_VAULT__KEY_FILE": "keys.json"})

        def land() -> None:
            with open_vault(settings) as vault, Load(settings, vault, "orders") as load:
                for body in bodies:
                    load.validate(body)
                counts = load.commit().counts
            assert sum(counts.values()) == len(bodies)
            assert counts["quarantined"] == 0

        for what in ("landing, all new", "landing, all unchanged"):
            wall, cpu = timed(land)
            rate = len(bodies) / cpu
            verdict = "as wanted" if rate >= WANTED else f"below {WANTED:,}"
            print(
                f"{what:28}{rate:>10,.0f} orders/s {cpu / floor_cpu:>5.1f}   "
                f"({len(bodies) / wall:,.0f} by the wall clock; {verdict})"
            )
        written = sum(path.stat().st_size for path in settings.data_dir.rglob("*") if path.is_file())
        print(f"written: {written / len(bodies):,.0f} bytes an order (vault, raw and index, after two loads)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory: {peak:,.0f} MB, of which the orders themselves {size / 2**20:,.0f} MB")


if __name__ == "__main__":
    main()
