"""Record changes to closed days as restatements, and post restatements to a period.

A build finds what differs from the booked amounts; it is appended to the ledger before a release shows it. What a
release has shown never changes, and a full rebuild from raw and ledger gives the same rows. After a kill in between,
the next build finds the same changes again.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from pipelines.clock import utc_now
from pipelines.finance.periods import earliest_open, is_closed, period_of
from pipelines.finance.released import FinanceError, circumstances, query, rows_of, stores_by_day
from pipelines.landing.customers import settle_customers
from pipelines.ledger import Closes, ledger_of
from pipelines.ledger.closed_days import POSTED, POSTINGS, RESTATED, RESTATEMENTS
from pipelines.ledger.decisions import User, current_user
from pipelines.ledger.signed_head import check_heads, signing_ledger
from pipelines.literals import literal
from pipelines.warehouse.building.build import build
from pipelines.warehouse.building.stored_warehouse import warehouse_file
from pipelines.warehouse.inputs.sources import create_sources
from pipelines.warehouse.release.manifest import code_version
from pipelines.warehouse.storage import memory_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pipelines.ledger import LedgerEntry
    from pipelines.settings import Settings
    from pipelines.warehouse.rows.fresh_rows import BuildResult

_INSTANT = pa.timestamp("us", tz="UTC")
_SHOWN = 5  # orders in a message
_SOURCES = ("raw.day_closes", "raw.closed_orders", "raw.restated")
_DAY = ("time_field", "timezone", "day_start")  # of [business_day], which decide an order's day; dayparts do not
_LOOSE = ("is_assumable", "open_parts")  # null in a hash of rules


@dataclass(frozen=True)
class Posting:
    """A posting to a period: how many restatements, and the sum of total_price by currency."""

    period: str
    restatement_count: int
    amounts: tuple[tuple[str, Any], ...]


def build_and_record(
    settings: Settings, *, full: bool = False, progress: Callable[[str, int, int], None] | None = None
) -> BuildResult:
    """Settle whose orders are, build the warehouse, record pending restatements, and build again with them.

    Raise the errors of the build. Recorded restatements stays recorded if the second build fails.
    """
    settle_customers(settings)
    result = build(settings, full=full, progress=progress)
    count = record(settings) if result.rows["audit.pending_restatements"] else 0
    if not count:
        return result
    again = build(settings, progress=progress)
    why = f"{result.why}; {count} restatements of closed days were recorded"
    return dataclasses.replace(
        again,
        changed=True,
        full=result.full or again.full,
        why=why,
        changed_tables=result.changed_tables | again.changed_tables,
        changed_checks=result.changed_checks | again.changed_checks,
    )


def record(settings: Settings) -> int:
    """Append the restatements that the last build found to the ledger, as one entry, and return how many."""
    with _warehouse(settings) as con:
        found = con.execute("select count(*) from audit.pending_restatements").fetchone()
        if not found or not found[0]:
            return 0
        ledger = signing_ledger(settings)
        body = circumstances(settings, con, None, code_version())
        create_entries(con, settings.data_dir, body)
        last = con.execute("select max(restatement_no) from memory.raw.restated").fetchone()
        values = {"last_restatement_no": (last and last[0]) or 0, "detected_at": utc_now()}
        _check_orders_exist(con)
        for step in ("last_booked", "restated_orders"):
            con.execute(f"create temp table {step} as {query(step)}")
        con.execute(f"create temp view order_total_parts as {query('total_parts')}")
        rows = con.execute(query("restatement_causes"), values).to_arrow_table().cast(RESTATEMENTS)
        if rows.num_rows != found[0]:
            raise FinanceError(
                f"{found[0]} pending restatements, but {rows.num_rows} causes: nothing was recorded; report this"
            )
        ledger.append(RESTATED, body, rows)
        return int(rows.num_rows)


def _check_orders_exist(con: duckdb.DuckDBPyConnection) -> None:
    """Raise FinanceError if a closed order is in no table: losing data is not a cause for a restatement."""
    lost = con.execute(
        "select distinct order_id, business_date from audit.pending_restatements "
        "anti join mart.orders using (order_id) order by all"
    ).fetchall()
    if lost:
        shown = ", ".join(f"{order_id} of {day}" for order_id, day in lost[:_SHOWN])
        raise FinanceError(
            f"{len(lost)} orders of closed days are missing from data/raw, such as {shown}: restore data/raw from a "
            "copy, or fetch them again; nothing was published. To publish without them, reopen their days: "
            '`ordermart close reopen DAY --reason "…"`'
        )


def create_entries(con: duckdb.DuckDBPyConnection, data_dir: Path, present: dict[str, Any]) -> None:
    """Create memory.entries, the circumstances of every close and restatement, and memory.present, the current ones."""
    current = _hashes(present)
    texts = dict.fromkeys(current, pa.string())
    rows = rows_of(
        (
            (entry.no, entry.moment, _known_to(entry), *_hashes(entry.body).values())
            for entry in ledger_of(data_dir).entries()
            if "rules" in entry.body
        ),
        **{"entry_no": pa.int64(), "written_at": _INSTANT, "known_to": _INSTANT, **texts},
    )
    con.from_arrow(rows).create("memory.entries")
    con.from_arrow(rows_of([tuple(current.values())], **texts)).create("memory.present")


def recorded(settings: Settings, *, everything: bool = False) -> list[dict[str, Any]]:
    """Return the ledger's restatements by number: the unposted ones under active closes, or all."""
    with sources(settings) as con:
        rows = con.sql("from memory.raw.restated order by restatement_no").to_arrow_table().to_pylist()
    check_heads(settings, ledger := ledger_of(settings.data_dir))
    closes = Closes(ledger.entries())
    for row in rows:
        row["is_close_active"] = closes.of(row["business_date"], row["store_id"]) == row["close_entry_no"]
    return [row for row in rows if everything or (row["posted_period"] is None and row["is_close_active"])]


def post(settings: Settings, period: str, user: User | None = None) -> Posting:
    """Post every unposted restatement to a period; write nothing if there is none.

    Raise SettingsError if there is no such period, FinanceError if it is closed.
    """
    ledger = signing_ledger(settings)
    found = period_of(settings, period)
    closes, stores = Closes(ledger.entries()), stores_by_day(settings)
    if is_closed(closes, found, stores):
        following = earliest_open(settings, closes, found.last_day, stores)
        name = f", such as {following.name}" if following else ": add one to [closing] periods_file"
        raise FinanceError(f"--period: {period} is closed: post to an open period{name}")
    rows = recorded(settings)
    if rows:
        numbers = pa.table({"restatement_no": [row["restatement_no"] for row in rows]}, schema=POSTINGS)
        body = {"period": found.name, "restatement_count": len(rows), **(user or current_user()).body}
        ledger.append(POSTED, body, numbers)
    return Posting(found.name or period, len(rows), total_prices(rows))


def total_prices(rows: Sequence[dict[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Return the sum of the restated total_price by currency, '' where none is known."""
    amounts: dict[str, Any] = {}
    for row in rows:
        if row["measure"] == "total_price":
            amounts[row["currency"] or ""] = amounts.get(row["currency"] or "", 0) + row["restatement_amount"]
    return tuple(sorted(amounts.items()))


def _hashes(body: dict[str, Any]) -> dict[str, str]:
    """Return a hash of each circumstance that can cause a restatement."""
    return {
        "business_day_hash": _hash([body["settings"]["business_day"][key] for key in _DAY]),
        "sales_hash": _hash(body["settings"]["sales"]),
        # without what can change while a rule stays the same
        "rules_hash": _hash([{**rule, "conditions": None} | dict.fromkeys(_LOOSE) for rule in body["rules"]]),
    }


def _known_to(entry: LedgerEntry) -> dt.datetime:
    """Return the latest time at which a load could be seen: of a close, when its release was published."""
    as_of = entry.body.get("release_as_of")
    return dt.datetime.fromisoformat(as_of) if as_of else entry.moment


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@contextmanager
def sources(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with the ledger's closes and restatements in `memory.raw`."""
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'")
        con.execute("create schema raw")
        create_sources(con, settings, *_SOURCES)
        yield con


@contextmanager
def _warehouse(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield the warehouse, read-only and the default database, beside the sources in `memory.raw`."""
    with sources(settings) as con:
        con.execute("set memory_limit = ?", [memory_limit(settings)])
        con.execute(f"attach {literal(warehouse_file(settings.data_dir))} as warehouse (read_only)")
        con.execute("use warehouse")
        yield con
