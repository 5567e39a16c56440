"""Measure a night of changed orders on warehouses of several sizes: what grows with the warehouse, and how much.

    python benchmarks/history.py [--orders 100000 5000000] [--copies 1] [--changed 20000] [--nights 3]
        [--memory 850MB] [--publish] [--folder FOLDER] [--keep]

Each warehouse is built from generated raw Parquet (benchmarks/raw_world.py). Then, night after night, its newest orders
are landed again with changed contents and built incrementally, in a copy. The median night's build is compared,
without publication, which copies the file; `--publish` publishes each as a run for webhooks does, and prints what both
took. Times are CPU times, to reduce the effect of other load. The steps that grew most are listed. `--keep` keeps the
folder; given again, it is reused, and rebuilt only if the SQL of the tables changed. The aim: 20,000 changed orders on
5 million cost at most 1.3 times what they cost on 100,000.

Building 5 million takes long. `--copies 5` builds the last size as one year, and copies its rows, by order and by
day, to four years more: `--orders 100000 1000000 --copies 5` compares 5 million orders with 100,000.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from raw_world import make_orders, make_raw, seconds_apart  # noqa: E402 - beside this file

from pipelines.record import WEBHOOKS  # noqa: E402 - the same
from pipelines.settings import load_settings  # noqa: E402 - found through the path above
from pipelines.warehouse import increment  # noqa: E402 - the same
from pipelines.warehouse.building.build import build, warehouse_file  # noqa: E402 - the same
from pipelines.warehouse.catalogue.tables import tables  # noqa: E402 - the same
from pipelines.warehouse.release.release import publish  # noqa: E402 - the same
from pipelines.warehouse.rows.fresh_rows import Making  # noqa: E402 - the same
from pipelines.warehouse.rows.session import UNDATED, key_of  # noqa: E402 - the same

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.warehouse.catalogue import Table
    from pipelines.warehouse.contracts import Column

Steps = dict[str, float]


def measure(
    orders: int, changed: int, nights: int, folder: Path, memory: str, copies: int = 1, *, published: bool = False
) -> list[tuple[float, Steps]]:
    """Return processor seconds of each night, and of each of its steps."""
    kept = folder / "kept"
    _prepare(kept, orders)
    if copies > 1:
        with _timed(f"copied {copies} times"):
            shutil.rmtree(folder / "copied", ignore_errors=True)
            kept = Path(shutil.copytree(kept, folder / "copied", copy_function=_linked))
            with duckdb.connect(warehouse_file(kept / "data"), config={"memory_limit": "2GB"}) as con:
                add_years(con, tables(), orders, copies)
                _add_states(con, orders, copies)
    shutil.rmtree(folder / "nights", ignore_errors=True)
    folder = Path(shutil.copytree(kept, folder / "nights", copy_function=_linked))
    environ = {"ORDERMART_WAREHOUSE__MEMORY_LIMIT": memory, "ORDERMART_RELEASE__PUBLISH_EVERY_MINUTES": "0"}
    settings = load_settings(folder / "ordermart.toml", environ)
    if published:
        with _timed("  the first release"):
            publish(settings, build(settings))
    measured = []
    for night in range(1, nights + 1):
        with duckdb.connect() as con:
            con.execute("set timezone = 'UTC'")
            load = f"20260602T{night:012d}-000004"
            last = orders * copies
            make_orders(con, folder / "data", last - changed, last, load, orders, seed=1 + night)
        with _timed(f"  night {night}, with its release" if published else f"  night {night}"):
            measured.append(_night(settings, published=published))
        print(f"  night {night}: {measured[-1][0]:.2f} s", flush=True)
    return measured


def _prepare(folder: Path, orders: int) -> None:
    """Make input and warehouse, as far as they are not there from before."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ordermart.toml").write_text("", encoding="utf-8")
    settings = load_settings(folder / "ordermart.toml", {})
    if not (folder / "made").exists():
        shutil.rmtree(folder / "data", ignore_errors=True)
        with _timed(f"{orders:,} orders, input"):
            make_raw(folder / "data", orders)
        (folder / "made").touch()
    with _timed(f"{orders:,} orders, built"):
        build(settings)


def add_years(con: duckdb.DuckDBPyConnection, found: Iterable[Table], orders: int, copies: int) -> None:
    """Copy the rows by order, day and month of a year's tables, with ids and times that go on."""
    days = math.ceil(orders * seconds_apart(orders) / 86400)
    con.execute("set timezone = 'UTC'")
    for table in found:
        if key_of(table) not in {"order_id", "customer_key", *UNDATED}:
            continue
        row = con.execute(f"select count(*) from {table.name}").fetchone()
        for copy in range(1, copies):
            columns = ", ".join(_moved(each, copy * orders, copy * days) for each in table.columns)
            con.execute(f"insert into {table.name} select {columns} from {table.name} limit {row[0] if row else 0}")


def _add_states(con: duckdb.DuckDBPyConnection, orders: int, copies: int) -> None:
    for copy in range(1, copies):
        con.execute(
            f"""
            insert into build.states
            select * replace (id + {copy * orders} as id) from build.states where kind = 'orders' and id < {orders}
            """
        )


def _moved(column: Column, orders: int, days: int) -> str:
    """Return the expression of a column in a copy that begins so many orders and days later."""
    name = f'"{column.name}"'
    if column.name in {"order_id", "original_order_id"}:
        return f"{name} + {orders} as {name}"
    if column.name == "customer_key":  # customers of their own: a customer's orders are numbered
        return f"{name} || '{orders}' as {name}"
    if column.name == "business_date":
        return f"{name} + {days} as {name}"
    if column.name == "business_month":  # days are a year but for a few
        return f"cast(date_trunc('month', {name} + {days + 15}) as date) as {name}"
    if column.name.startswith(("created_at", "requested_time", "promised_")) and column.type.startswith("TIMESTAMP"):
        return f"{name} + interval {days} days as {name}"
    return name


@contextmanager
def _timed(what: str) -> Iterator[None]:
    """Print how long the block took, on the clock and on the processors."""
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    print(f"{what}: {time.perf_counter() - clock:.1f} s, CPU {time.process_time() - cpu:.1f} s", flush=True)


def _linked(source: str, target: str) -> str:
    """Give a copy the same landed files, which nothing writes to, and a warehouse of its own."""
    if source.endswith(".parquet"):
        Path(target).hardlink_to(source)
        return target
    return shutil.copy2(source, target)


def _night(settings: Any, *, published: bool = False) -> tuple[float, Steps]:
    """Build an increment; return its processor seconds, and those of its steps; publish it."""
    steps: Steps = defaultdict(float)

    def timed(name: str, plain: Any) -> Any:
        def run(*arguments: Any, **named: Any) -> Any:
            started = time.process_time()
            try:
                return plain(*arguments, **named)
            finally:
                steps[name.format(_named(arguments))] += time.process_time() - started

        return run

    places: list[tuple[Any, str, str]] = [
        (Making, "make", "make {}"),
        (Making, "look", "look {}"),
        (Making, "replace", "replace {}"),
        (increment, "touched", "touched {}"),
        (increment, "create_documents", "documents"),
        (increment, "create_new_versions", "versions"),
        (increment, "fold", "fold"),
        (increment, "find_new_runs", "runs"),
        (increment, "create_observations", "observations"),
        (increment, "_replace_memory", "memory"),
        (increment, "_parts", "parts"),
    ]
    plain = [(where, name, getattr(where, name)) for where, name, _ in places]
    for where, name, label in places:
        setattr(where, name, timed(label, getattr(where, name)))
    try:
        started = time.process_time()
        result = build(settings)
        seconds = time.process_time() - started
    finally:
        for where, name, was in plain:
            setattr(where, name, was)
    if result.full:
        raise SystemExit(f"the night was no increment: {result.why}")
    if published and (why := publish(settings, result, run=WEBHOOKS).why_kept):
        raise SystemExit(f"the night published nothing: {why}")
    return seconds, steps


def _named(arguments: tuple[Any, ...]) -> str:
    name = getattr(arguments[1], "name", arguments[1]) if len(arguments) > 1 else ""
    return name if isinstance(name, str) else ""


def report(few: int, one: list[tuple[float, Steps]], many: int, other: list[tuple[float, Steps]]) -> None:
    """Print the ratio of two warehouses' nights, and the steps that grew most."""
    before, after = (statistics.median(seconds for seconds, _ in each) for each in (one, other))
    print(f"a night on {many:,} costs {after / before:.2f} times what it costs on {few:,}")
    grew = []
    for name in {name for _, steps in one + other for name in steps}:
        first, then = (statistics.median(steps.get(name, 0.0) for _, steps in each) for each in (one, other))
        grew.append((then - first, first, then, name))
    for grown, first, then, name in sorted(grew, reverse=True)[:15]:
        print(f"  {name:60} {first:7.3f} s {then:7.3f} s  {grown:+7.3f} s")


def main() -> None:
    """Measure the requested sizes; the first is the reference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, nargs="*", default=[100_000, 5_000_000])
    parser.add_argument("--changed", type=int, default=20_000)
    parser.add_argument("--nights", type=int, default=3)
    parser.add_argument("--copies", type=int, default=1, help="of the last size: how many years of it")
    parser.add_argument("--memory", default="850MB", help="what DuckDB may use in a night")
    parser.add_argument(
        "--publish", action="store_true", help="publish a release each night, which is measured besides"
    )
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="leave input and warehouses in the folder")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="ordermart-"))
    tables()
    nights = {}
    for orders in arguments.orders:
        copies = arguments.copies if orders == arguments.orders[-1] else 1
        nights[orders] = measure(
            orders,
            arguments.changed,
            arguments.nights,
            folder / str(orders),
            arguments.memory,
            copies,
            published=arguments.publish,
        )
        shutil.rmtree(folder / str(orders) / "nights")
        if not arguments.keep:
            shutil.rmtree(folder / str(orders))
        if len(nights) > 1:
            first = arguments.orders[0]
            report(first, nights[first], orders * copies, nights[orders])


if __name__ == "__main__":
    main()
