"""Measure closing a day of 20,000 orders against the floor: a plain select of that day's rows from the same release.

    python benchmarks/closing.py [--orders 1000000 5000000] [--acts 3000] [--folder FOLDER]

The release is made by DuckDB SQL: the tables that a close reads, with the orders of a day next to each other. Each
figure is the best of three, each for a different day. Also measured: the same with thousands of entries in the ledger;
and, with every day closed, the comparison in every build, against a query that only sums the same rows.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipelines.finance import closing  # noqa: E402 - found through the path above
from pipelines.finance.released import BookPeriod, one_day  # noqa: E402 - the same
from pipelines.ledger import chain, ledger_of  # noqa: E402 - the same
from pipelines.settings import load_settings  # noqa: E402 - the same
from pipelines.warehouse import catalogue  # noqa: E402 - the same
from pipelines.warehouse.inputs.sources import create_sources  # noqa: E402 - the same
from pipelines.warehouse.release.manifest import ReleaseManifest, code_version, write_manifest  # noqa: E402 - the same
from pipelines.warehouse.rows.session import fingerprint_of  # noqa: E402 - the same
from pipelines.warehouse.storage import memory_limit  # noqa: E402 - the same

A_DAY = 20_000
FIRST = dt.date(2025, 1, 1)
TABLES = (
    "core.orders",
    "core.stores",
    "mart.orders",
    "mart.order_reconciliation",
    "mart.daily_store_sales",
    "audit.breaks",
    "audit.control_totals",
    "workings.formula_divisions",
    "audit.formula_populations",
    "audit.order_rules",
    "audit.quarantine",
)
_ORDERS = """
select
    i as order_id,
    1 + hash(i) % 200 as store_id,
    date '2025-01-01' + cast(i // 20000 as integer) as business_date,
    if(hash(i, 1) % 20 = 0, 'excluded', 'counted') as sale_class,
    'delivered' as status, 'EUR' as currency, 'UTC' as timezone, 'setting' as timezone_source, false as is_deleted,
    2 as line_count, 3 as unit_count, md5(cast(i as varchar)) || md5(cast(-i as varchar)) as _payload_sha256,
    cast(hash(i, 2) % 5000 as decimal(18, 4)) / 100 as subtotal_price, 2.5 as delivery_price,
    cast(hash(i, 3) % 500 as decimal(18, 4)) / 100 as tip, 0 as discount, null as loyalty_discount,
    subtotal_price + 2.5 + tip as total_price, subtotal_price as line_amount, 0 as unallocated_amount,
    cast('2025-01-01 12:00:00+00' as timestamptz) + to_days(cast(i // 20000 as integer)) as created_at,
    created_at as _fetched_at, created_at + interval 5 days as last_checked_at, 'L' as _load_id,
    [] as missing_parts, 'balanced' as verdict
from range({orders}) as t (i)
"""


def make_release(folder: Path, orders: int) -> Any:
    """Write a data folder with one release of so many orders, and return its settings."""
    file = folder / "ordermart.toml"
    file.write_text('[sales]\ncounted_statuses = ["delivered"]\n', encoding="utf-8")
    settings = load_settings(file, {})
    release = settings.data_dir / "published" / "releases" / "made"
    release.mkdir(parents=True)
    with duckdb.connect(str(release / "ordermart.duckdb")) as con:
        con.execute(f"create temp table made as {_ORDERS.format(orders=orders)}")
        for schema in ("core", "mart", "audit", "workings"):
            con.execute(f"create schema {schema}")
        for name in TABLES:
            columns = catalogue.table(name).columns
            con.execute(f"create table {name} ({', '.join(f'{each.name} {each.type}' for each in columns)})")
            known = {row[0] for row in con.execute("describe made").fetchall()}
            if name in {"core.orders", "mart.orders", "mart.order_reconciliation", "audit.order_rules"}:
                chosen = ", ".join(each.name for each in columns if each.name in known)
                con.execute(f"insert into {name} by name select {chosen} from made")
    write_current(settings, release)
    return settings


def write_current(settings: Any, release: Path) -> None:
    """Make a folder with a database the current release, without reference files of the user's."""
    with duckdb.connect(str(release / "ordermart.duckdb")) as con:
        con.execute("create schema ref")
        con.execute("create table ref.stores (store_id bigint, region varchar, opened_on date, closed_on date)")
    manifest = ReleaseManifest(
        id="made",
        published_at="",
        commit="",
        code=code_version(),
        settings="",
        rows={},
        checks={},
        files=[],
        fingerprint=fingerprint_of(settings),
    )
    write_manifest(release, manifest)
    (release.parents[1] / "current").symlink_to("releases/made")


def best(do: Callable[[dt.date], object], days: list[dt.date]) -> float:
    """Return the seconds of the fastest of these days."""
    took = []
    for day in days:
        started = time.perf_counter()
        do(day)
        took.append(time.perf_counter() - started)
    return min(took)


def measure(settings: Any, orders: int, acts: int) -> None:
    """Print what closing and comparing take, as ratios to their floors."""
    file = settings.data_dir / "published" / "current" / "ordermart.duckdb"
    days = [FIRST + dt.timedelta(days=n) for n in range(orders // A_DAY)]

    def select(day: dt.date) -> None:
        with duckdb.connect(str(file), read_only=True) as con:
            con.sql(f"select * from mart.orders where business_date = date '{day}'").to_arrow_table()

    def close(day: dt.date) -> None:
        done = closing.close(settings, one_day(day.isoformat()), exceptions="a benchmark")
        assert done.order_count == A_DAY

    floor = best(select, days[3:6])
    closed = best(close, days[3:6])
    print(f"{orders:>9,} orders: a day selected {floor:.3f} s, closed {closed:.3f} s: {closed / floor:.1f} times")
    ledger = ledger_of(settings.data_dir)
    started = time.perf_counter()
    for n in range(100):
        ledger.append("note", {"n": n})
    append = (time.perf_counter() - started) / 100
    print(f"          an entry appended to a ledger of about 50: {append * 1000:.1f} ms")
    _many_acts(ledger, acts)
    closed = best(close, days[6:9])
    print(f"          closed after {acts:,} entries: {closed:.3f} s: {closed / floor:.1f} times")
    for first in range(0, len(days), 25):
        part = days[first : first + 25]
        closing.close(settings, BookPeriod(part[0], part[-1]), exceptions="a benchmark")
    _compare(settings, file)


def _many_acts(ledger: Any, acts: int) -> None:
    """Write entries to the ledger at once: appending one by one would take too long."""
    *_, last = ledger.entries()
    previous, lines = last.sha256, []
    for no in range(last.no + 1, last.no + 1 + acts):
        fields = {"no": no, "at": last.at, "who": "x", "act": "note", "body": {"n": no}, "file": None}
        fields |= {"file_sha256": None, "previous": previous}
        previous = fields["sha256"] = chain._hash(fields)  # noqa: SLF001 - as append does
        lines.append(chain._canonical(fields) + b"\n")  # noqa: SLF001 - the same
    with (ledger.folder / "ledger.jsonl").open("ab") as file:
        file.writelines(lines)


def _compare(settings: Any, file: Path) -> None:
    """Print what comparing all closed orders with all current ones takes."""
    with duckdb.connect(":memory:", config={"memory_limit": memory_limit(settings)}) as con:
        con.execute("set timezone = 'UTC'")
        for schema in ("raw", "mart", "audit", "workings"):
            con.execute(f"create schema {schema}")
        started = time.perf_counter()
        create_sources(con, settings, "raw.day_closes", "raw.closed_orders", "raw.restated")
        opened = time.perf_counter() - started
        con.execute(f"attach '{file}' as made (read_only)")
        con.execute("create view mart.order_reconciliation as from made.mart.order_reconciliation")
        parts = "sum(subtotal_price), sum(delivery_price), sum(tip), sum(discount), sum(total_price), sum(line_amount)"
        started = time.perf_counter()
        for name in ("raw.closed_orders", "mart.order_reconciliation"):
            con.execute(f"select business_date, store_id, sale_class, {parts} from {name} group by all").fetchall()
        floor = time.perf_counter() - started
        started = time.perf_counter()
        for name in ("workings.closed_day_totals", "workings.daily_fingerprints"):
            con.execute(f"create table {name} as {catalogue.table(name).sql}")
        prints = time.perf_counter() - started
        started = time.perf_counter()
        days = catalogue.table("workings.changed_closed_days")
        con.execute(f"create table {days.name} as {days.sql}")
        found = con.execute(catalogue.table("audit.pending_restatements").sql).fetchall()
        took = time.perf_counter() - started
        assert found == []
    print(
        f"          all closed: files verified {opened:.2f} s; both sides summed {floor:.2f} s, "
        f"fingerprints of all days {prints:.2f} s (a build makes those of changed ones), compared {took:.2f} s: "
        f"{took / floor:.1f} times, {(prints + took) / floor:.1f} with every fingerprint"
    )


def main() -> None:
    """Make a release of each size and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--acts", type=int, default=3_000)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    for orders in arguments.orders:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            measure(make_release(Path(folder), orders), orders, arguments.acts)


if __name__ == "__main__":
    main()
