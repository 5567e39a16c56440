"""Build worlds in which one key has everything, at n and 2n orders: no table's time may grow faster than its rows.

    python benchmarks/skew.py [--orders 20000] [--worlds one_customer one_store …]

The worlds are SKEWED of benchmarks/raw_world.py. For each, a full build and an increment of one order are measured by
table and step, in CPU seconds; the exponent is the logarithm to base two of 2n's to n's. Those above 1.2 are printed,
of what takes a tenth of a second or more, and the command ends with 1. Peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from raw_world import SKEWED, Shape, make_orders, make_raw  # noqa: E402 - beside this file

from pipelines.settings import load_settings  # noqa: E402 - found through the path above
from pipelines.warehouse.building.build import build  # noqa: E402 - the same
from pipelines.warehouse.rows.session import profiled  # noqa: E402 - the same

MOST = 1.2  # of an exponent
LEAST = 0.1  # CPU seconds at n: less is noise
Costs = dict[str, float]


def costs_of(folder: Path, shape: Shape, orders: int) -> tuple[Costs, Costs]:
    """Return the CPU seconds by step of a full build, and of an increment of one order; "all" is their sum."""
    (folder / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(folder / "ordermart.toml", {"ORDERMART_WAREHOUSE__THREADS": "1"})
    make_raw(folder / "data", orders, shape=shape)
    found = []
    for number in range(2):
        if number:
            with duckdb.connect() as con:
                con.execute("set timezone = 'UTC'")
                make_orders(con, folder / "data", orders - 1, orders, "20260602T000000000001-000004", orders, 2, shape)
        began = time.process_time()
        with profiled() as profile:
            build(settings)
        costs = {name: cost.cpu_ns / 1e9 for name, cost in profile.items()}
        found.append(costs | {"all": time.process_time() - began})
    return found[0], found[1]


def main() -> int:
    """Measure and print; return 1 if anything grows too fast."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=20_000)
    parser.add_argument("--worlds", nargs="*", choices=[*SKEWED], default=[*SKEWED], metavar="WORLD")
    asked = parser.parse_args()
    failed = False
    for name in asked.worlds:
        measured = []
        for orders in (asked.orders, 2 * asked.orders):
            with tempfile.TemporaryDirectory(prefix="skew-") as place:
                measured.append(costs_of(Path(place), SKEWED[name], orders))
        for which, what in enumerate(("full build", "one order")):
            few, many = measured[0][which], measured[1][which]
            exponents = {step: math.log2(many[step] / few[step]) for step in few if few[step] >= LEAST and step in many}
            fast = {step: each for step, each in exponents.items() if each > MOST and step != "all"}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{name}, {what}: {few['all']:.1f} and {many['all']:.1f} s, exponent {exponents['all']:.2f};", end=" "
            )
            shown = ", ".join(f"{step} {few[step]:.2f} {each:.2f}" for step, each in sorted(fast.items()))
            print(f"{peak:.0f} MiB; above {MOST}: {shown or 'none'}", flush=True)
            failed = failed or bool(fast)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
