"""Measure the formula evidence and the reconciliation against building the core tables, table by table.

    python benchmarks/evidence.py [--orders 100000 1000000] [--folder FOLDER] [--keep]

One full build of generated raw Parquet (benchmarks/raw_world.py) in this process. The seconds of each table, including
its contract and row checks, are summed by purpose, as elapsed and as CPU time. Core: from the landed files to the
checked tables of schema core. Orders reconciled: rule evidence, rules in force, and the reconciliation of lines, orders
and days; the aim is at most the time of core. Prices against menus are reported separately, and in "all"; so are
statuses and suspected duplicates. On a busy machine compare CPU times.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from build import is_evidence  # noqa: E402 - the other benchmark, beside this file
from raw_world import LEAST_MEMORY, make_raw  # noqa: E402 - the same

from pipelines.settings import load_settings  # noqa: E402 - found through the path above
from pipelines.warehouse.building.build import build  # noqa: E402 - the same
from pipelines.warehouse.catalogue.tables import tables  # noqa: E402 - the same
from pipelines.warehouse.rows.session import DOCUMENTS, OBSERVATIONS, profiled  # noqa: E402 - the same

Taken = tuple[float, float]  # seconds on the clock, on the processors
SHOWN = 0.02  # of core's: what takes less is not listed

# What finance looks at besides: statuses, suspicions.
BESIDES = (
    "workings.daily_statuses",
    "audit.possible_duplicate_orders",
    "audit.status_evidence",
)
# Every line and modifier sold beside the menus observed at the time: the widest part of reconciling.
PRICES = (
    "workings.menu_offers",
    "workings.menu_set_offers",
    "workings.stores_with_menus",
    "mart.price_variances",
)
KINDS = ("core", "orders reconciled", "prices beside menus", "besides", "the rest")


def kind_of(name: str) -> str:
    """Return what a table, or a check of it (`table__claim`), is for."""
    table = name.partition("__")[0]
    if table.startswith("core") or name in {OBSERVATIONS, DOCUMENTS}:
        return "core"
    if table in BESIDES:
        return "besides"
    if table in PRICES:
        return "prices beside menus"
    return "orders reconciled" if is_evidence(table) else "the rest"


def measure(orders: int, folder: Path) -> None:
    """Print what the tables of so many orders took, as ratios to core."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ordermart.toml").write_text(LEAST_MEMORY, encoding="utf-8")
    make_raw(folder / "data", orders)
    tables()
    started = time.perf_counter()
    with profiled() as profile:
        build(load_settings(folder / "ordermart.toml", {}))
    whole = time.perf_counter() - started
    seconds = {name: (cost.clock_ns / 1e9, cost.cpu_ns / 1e9) for name, cost in profile.items()}
    sums = {kind: _sum(seconds, kind) for kind in KINDS}
    print(f"{orders:,} orders: {whole:.1f} s for everything")
    reconciled = [sums["orders reconciled"], sums["prices beside menus"]]
    _print("  reconciled, all", (sum(t for t, _ in reconciled), sum(cpu for _, cpu in reconciled)), sums["core"])
    for kind, taken in sums.items():
        _print(f"  {kind}", taken, sums["core"])
        for name, each in sorted(seconds.items(), key=lambda item: -item[1][1]):
            if kind_of(name) == kind and each[1] >= SHOWN * sums["core"][1]:
                _print(f"    {name}", each, sums["core"])


def _sum(seconds: dict[str, Taken], kind: str) -> Taken:
    of_kind = [each for name, each in seconds.items() if kind_of(name) == kind]
    return sum(clock for clock, _ in of_kind), sum(cpu for _, cpu in of_kind)


def _print(what: str, taken: Taken, core: Taken) -> None:
    (clock, cpu), (of_clock, of_cpu) = taken, core
    print(f"{what:36} {clock:7.2f} s  {clock / of_clock:5.2f}   CPU {cpu:7.2f} s  {cpu / of_cpu:5.2f}")


def main() -> None:
    """Measure the requested sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="ordermart-"))
    for orders in arguments.orders:
        measure(orders, folder / str(orders))
        if not arguments.keep:
            shutil.rmtree(folder / str(orders))


if __name__ == "__main__":
    main()
