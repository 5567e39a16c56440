"""Measure the formula evidence and the reconciliation against building the core tables, table by table.

    python benchmarks/evidence.py [--orders 100000 1000000] [--folder FOLDER]

One full build of raw Parquet made by seed (benchmarks/build.py), in this process: the seconds that each table takes,
its contract included, are added up by what the table is for. Core is the typing of the landed documents and the
tables of schema core; the aim is that finance takes at most as long.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from build import is_evidence, make_raw  # noqa: E402 - the other benchmark, beside this file

from pipelines.settings import load_settings  # noqa: E402 - found through the path above
from pipelines.warehouse import build, full, tables  # noqa: E402 - the same
from pipelines.warehouse.making import Making  # noqa: E402 - the same


def kind_of(table: str) -> str:
    """Return what a table is for."""
    if table.startswith("core."):
        return "core"
    return "finance" if is_evidence(table) else "the rest"


def measure(orders: int, folder: Path) -> None:
    """Print what the tables of so many orders took, as ratios to core."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ordermart.toml").write_text("", encoding="utf-8")
    make_raw(folder / "data", orders)
    tables()
    seconds: dict[str, float] = defaultdict(float)

    def timed(name: str, started: float) -> None:
        seconds[name] += time.perf_counter() - started

    plain_make, plain_documents = Making.make, full.create_documents

    def make(self: Making, table: Any, keys: str | None) -> None:
        started = time.perf_counter()
        plain_make(self, table, keys)
        timed(table.name, started)

    def create_documents(*arguments: Any) -> None:
        started = time.perf_counter()
        plain_documents(*arguments)
        timed("core: typed documents", started)

    Making.make, full.create_documents = make, create_documents  # type: ignore[method-assign]
    started = time.perf_counter()
    build(load_settings(folder / "ordermart.toml", {}))
    whole = time.perf_counter() - started
    Making.make, full.create_documents = plain_make, plain_documents  # type: ignore[method-assign]
    sums: dict[str, float] = defaultdict(float)
    for name, each in seconds.items():
        sums["core" if name.startswith("core") else kind_of(name)] += each
    print(f"{orders:,} orders: {whole:.1f} s for everything")
    for kind in ("core", "finance", "the rest"):
        print(f"  {kind:32} {sums[kind]:7.2f} s  {sums[kind] / sums['core']:5.2f}")
        for name, each in sorted(seconds.items(), key=lambda item: -item[1]):
            if ("core" if name.startswith("core") else kind_of(name)) == kind and each >= 0.01 * whole:
                print(f"    {name:30} {each:7.2f} s  {each / sums['core']:5.2f}")


def main() -> None:
    """Measure the sizes asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="ordermart-"))
    for orders in arguments.orders:
        measure(orders, folder / str(orders))
        shutil.rmtree(folder / str(orders))


if __name__ == "__main__":
    main()
