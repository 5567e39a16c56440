"""Build worlds in which one key has everything, at n and 2n orders: no table's time may grow faster than its rows.

    python benchmarks/skew.py [--orders 20000] [--worlds one_customer one_store …]

The worlds are SKEWED of benchmarks/raw_world.py. For each, a full build, an increment of one order, and what reads a
release are measured by table and step, in CPU seconds; the exponent is the logarithm to base two of 2n's to n's. Those
above 1.2 are printed, of what takes a tenth of a second or more, and the command ends with 1. Peak memory is that of
the whole process. Statements, journals and matching have `benchmarks/settlements.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import resource
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from raw_world import SKEWED, Shape, make_orders, make_raw  # noqa: E402 - beside this file

from pipelines.backup.backup import back_up  # noqa: E402 - found through the path above
from pipelines.finance.reconciliation import reconciliation  # noqa: E402 - the same
from pipelines.finance.released import (  # noqa: E402 - the same
    FinanceError,
    Selection,
    open_release,
)
from pipelines.record import NIGHT, new_run  # noqa: E402 - the same
from pipelines.report.explain import explain_order  # noqa: E402 - the same
from pipelines.report.page.morning import write_morning_page  # noqa: E402 - the same
from pipelines.report.status import status  # noqa: E402 - the same
from pipelines.report.workbook import write_workbook  # noqa: E402 - the same
from pipelines.settings import load_settings  # noqa: E402 - the same
from pipelines.warehouse.building.build import build  # noqa: E402 - the same
from pipelines.warehouse.release.release import publish  # noqa: E402 - the same
from pipelines.warehouse.rows.session import profiled  # noqa: E402 - the same
from pipelines.warehouse.verify import verify_next  # noqa: E402 - the same

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings

MOST = 1.2  # of an exponent
LEAST = 0.1  # CPU seconds at n: less is noise
Costs = dict[str, float]


def readers(settings: Settings, folder: Path) -> dict[str, Callable[[], object]]:
    """Return what reads a release, by name."""

    def reconcile() -> None:
        with open_release(settings) as release:
            reconciled = reconciliation(release, Selection())
            write_workbook(reconciled, folder / "reconciliation.xlsx")

    return {
        "publish": lambda: publish(settings),
        "reconcile": reconcile,
        "explain": lambda: explain_order(settings, 0),
        "status": lambda: status(settings),
        "page": lambda: write_morning_page(settings, new_run(NIGHT)),
        "verify": lambda: verify_next(settings, Fraction(1, 64)),
        "backup": lambda: back_up(settings, folder / "backups"),
    }


def costs_of(folder: Path, shape: Shape, orders: int) -> tuple[Costs, Costs, Costs]:
    """Return the CPU seconds by step of a full build, an increment of one order, and of readers; "all" is their sum."""
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
    read: Costs = {}
    for name, work in readers(settings, folder).items():
        began = time.process_time()
        with contextlib.suppress(FinanceError):  # a world without orders has none to explain
            work()
        read[name] = time.process_time() - began
    return found[0], found[1], read | {"all": sum(read.values())}


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
        for which, what in enumerate(("full build", "one order", "readers")):
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
