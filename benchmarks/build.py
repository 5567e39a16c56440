"""Measure build and publication against a floor: DuckDB alone reading, summing and writing the same rows.

    python benchmarks/build.py [--orders 100000 1000000] [--folder FOLDER] [--keep]

The input is raw Parquet as validation writes it, generated from a seed with DuckDB SQL. The floor, with the same
number of threads: read the landed JSON and sum its amounts, then write the finished tables once to a DuckDB file and
once to Parquet. It is measured twice: with DuckDB's defaults, and with the faster write settings of the build. The
build runs in its own process, whose peak memory is printed.

Finance tables (thousands of price rules tested on every order, every price compared with its menu) are reported
separately, against writing them once to DuckDB. On a busy machine compare CPU times.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator

Seconds = dict[str, tuple[float, ...]]

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.raw_world import LEAST_MEMORY, make_raw  # noqa: E402 - found through the path above

FINANCE = (
    "audit.formula",
    "audit.monthly_formula",
    "workings.order_formula_amounts",
    "workings.order_line_sums",
    "audit.order_residual",
    "audit.rounded_",
    "audit.subtotal_",
    "audit.total_",
)
RECONCILED = (
    "workings.menu_offers",
    "audit.order_rules",
    "mart.order_lines",
    "mart.order_reconciliation",
    "mart.price_variances",
    "mart.daily_reconciliations",
)
_SUM = """
select
    sum(o.subtotal_price), sum(o.delivery_price), sum(o.tip), sum(o.discount), sum(o.loyalty_discount),
    sum(o.total_price), sum(list_sum(list_transform(o.items, lambda i: i.price))),
    sum(list_sum(list_transform(flatten(list_transform(o.items, lambda i: i.modifiers)), lambda m: m.price)))
from (
    select from_json(document, '{"subtotal_price":"DECIMAL(18,4)","delivery_price":"DECIMAL(18,4)",
        "tip":"DECIMAL(18,4)","discount":"DECIMAL(18,4)","loyalty_discount":"DECIMAL(18,4)",
        "total_price":"DECIMAL(18,4)",
        "items":[{"price":"DECIMAL(18,4)","modifiers":[{"price":"DECIMAL(18,4)"}]}]}') as o
"""


def is_evidence(table: str) -> bool:
    """Return whether a table is finance's: what its sums, rules, reconciliation and price variances are made of."""
    return table.startswith(FINANCE) or table in RECONCILED


@contextmanager
def _timed(seconds: Seconds, part: str) -> Iterator[None]:
    """Add to a part how long the block took: on the clock, and on the processors."""
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    before = seconds.get(part, (0.0, 0.0))
    seconds[part] = (before[0] + time.perf_counter() - clock, before[1] + time.process_time() - cpu)


def floor(folder: Path, data: Path, *, as_built: bool) -> Seconds:
    """Time what no build can do without, as DuckDB does it by itself or as it is set for builds; seconds per part."""
    from pipelines.warehouse import storage  # noqa: PLC0415 - most of what uses this file needs no more than its input

    release = data / "published" / "current" / "ordermart.duckdb"
    config, options = (storage.SESSION, storage.DRAFT) if as_built else ({}, "")
    seconds: Seconds = {}
    (folder / "floor.duckdb").unlink(missing_ok=True)
    with duckdb.connect(config=config) as con:
        con.execute(f"attach '{release}' as release (read_only)")
        names = [
            f"{s}.{t}"
            for s, t in con.execute(
                "select schema_name, table_name from duckdb_tables() where database_name = 'release'"
            ).fetchall()
        ]
        with _timed(seconds, "read and add up"):
            con.execute(f"{_SUM} from read_parquet('{data}/raw/documents/orders/*.parquet'))").fetchall()
        con.execute(f"attach '{folder / 'floor.duckdb'}' as flat {options}")
        for schema in {name.partition(".")[0] for name in names}:
            con.execute(f"create schema flat.{schema}")
        for name in names:
            columns = con.execute(f"select column_name, column_type from (describe release.{name})").fetchall()
            plain = ", ".join(f'"{column}" {kind}' for column, kind in columns)
            con.execute(f"create table flat.{name} ({storage.spelled(columns) if as_built else plain})")
        for part, wanted in (("tables, to DuckDB", False), ("finance's, to DuckDB", True)):
            with _timed(seconds, part):
                for name in names:
                    if is_evidence(name) is wanted:
                        con.execute(f"insert into flat.{name} from release.{name}")
                con.execute("checkpoint flat")
        with _timed(seconds, "all, to Parquet"):
            for name in names:
                con.execute(f"copy release.{name} to '{folder / name}.parquet' (format parquet, compression zstd)")
    return seconds


def _work(data: Path) -> None:
    """Build and publish, then print seconds and the peak memory of this process."""
    from pipelines.settings import load_settings  # noqa: PLC0415 - imports are not what is measured
    from pipelines.warehouse.building.build import build  # noqa: PLC0415
    from pipelines.warehouse.catalogue.tables import tables  # noqa: PLC0415
    from pipelines.warehouse.release.release import publish  # noqa: PLC0415
    from pipelines.warehouse.rows.fresh_rows import Making  # noqa: PLC0415

    tables()
    settings = load_settings(data.parent / "ordermart.toml", {})
    seconds: Seconds = {}
    evidence: Seconds = {}
    plain = {"make": Making.make, "look": Making.look}

    def make(self: Making, table: Any, keys: str | None) -> Any:
        with _timed(evidence if is_evidence(table.name) else {}, "evidence"):
            return plain["make"](self, table, keys)

    def look(self: Making, check: Any, keys: str | None) -> None:
        with _timed(evidence if is_evidence(check.table) else {}, "evidence"):
            plain["look"](self, check, keys)

    Making.make, Making.look = make, look  # type: ignore[method-assign]
    with _timed(seconds, "build"):
        result = build(settings)
    with _timed(seconds, "publish"):
        publish(settings, result)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    blocked = sum(each.violations for each in result.checks if each.severity == "blocking")
    rows = sum(result.rows.values())
    print(json.dumps({"seconds": seconds | evidence, "peak_mb": peak, "rows": rows, "blocked": blocked}))


def measure(orders: int, folder: Path) -> None:
    """Print what building and publishing so many orders took, as ratios to the floor."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ordermart.toml").write_text(LEAST_MEMORY, encoding="utf-8")
    data = folder / "data"
    started = time.perf_counter()
    make_raw(data, orders)
    print(f"{orders:,} orders, input made in {time.perf_counter() - started:.1f} s")
    done = subprocess.run([sys.executable, __file__, "--work", str(data)], capture_output=True, text=True, check=True)
    work = json.loads(done.stdout.splitlines()[-1])
    made = work["seconds"]
    for name in ("build", "publish"):
        _print(name, made[name])
    whole = _sum({name: made[name] for name in ("build", "publish")})
    for words, as_built in (("as DuckDB writes", False), ("as the build writes", True)):
        parts = floor(folder, data, as_built=as_built)
        print(f"  {words}:")
        for name, taken in parts.items():
            _print(f"  floor: {name}", taken)
        _print("  build and publish", whole, _sum(parts))
        _print("  finance's tables, built", made["evidence"], parts["finance's, to DuckDB"])
    print(f"  peak memory {work['peak_mb']:,.0f} MiB; {work['rows']:,} rows; {work['blocked']} violations that block")


def _sum(parts: Seconds) -> tuple[float, ...]:
    return sum(clock for clock, _ in parts.values()), sum(cpu for _, cpu in parts.values())


def _print(what: str, taken: tuple[float, ...], bottom: tuple[float, ...] | None = None) -> None:
    clock, cpu = taken
    ratios = ("", "") if bottom is None else (f"{clock / bottom[0]:6.2f}", f"{cpu / bottom[1]:6.2f}")
    print(f"  {what:32} {clock:7.2f} s {ratios[0]:6}   CPU {cpu:7.2f} s {ratios[1]:6}")


def main() -> None:
    """Measure the requested sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--orders", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        _work(arguments.work)
        return
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="ordermart-"))
    for orders in arguments.orders:
        measure(orders, folder / str(orders))
        if not arguments.keep:
            shutil.rmtree(folder / str(orders))


if __name__ == "__main__":
    main()
