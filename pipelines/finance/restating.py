"""Record what changed in sealed days, and post what was recorded to a period.

A build finds the differences to what is booked; they are recorded in the ledger before a release shows them, so that
what a release has shown never changes, and a rebuild from raw and ledger gives the same rows. A kill in between
leaves them to be found again. Knows nothing of how days are sealed.
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

from pipelines.finance.released import FinanceError, circumstances
from pipelines.finance.restatement_causes import CAUSES
from pipelines.ledger import Seals, ledger_of
from pipelines.ledger.closing import POSTED, POSTED_ACT, RESTATED, RESTATED_ACT
from pipelines.warehouse import build, warehouse_file
from pipelines.warehouse.inputs.sources import create_sources
from pipelines.warehouse.release.manifest import code_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.ledger import Entry
    from pipelines.settings import Settings
    from pipelines.warehouse import BuildResult

_INSTANT = pa.timestamp("us", tz="UTC")
_SHOWN = 5  # orders in a sentence
_SOURCES = ("raw.day_closes", "raw.closed_orders", "raw.restated")


@dataclass(frozen=True)
class Posted:
    """What a posting froze: how many rows, and the sum of total_price by currency."""

    period: str
    rows: int
    amounts: tuple[tuple[str, Any], ...]


def build_and_record(
    settings: Settings, *, full: bool = False, progress: Callable[[str, int, int], None] | None = None
) -> BuildResult:
    """Build the warehouse, record what it found to differ from sealed days, and bring the recorded rows into it.

    Raise what the build raises. What is recorded is never taken back: a build that fails after it finds it recorded.
    """
    result = build(settings, full=full, progress=progress)
    number = record(settings)
    if not number:
        return result
    again = build(settings, progress=progress)
    why = f"{result.why}; {number} restatements of sealed days were recorded"
    return dataclasses.replace(again, changed=True, full=result.full or again.full, why=why)


def record(settings: Settings) -> int:
    """Write the differences that the last build found into the ledger, as one act, and return how many rows."""
    with _warehouse(settings) as con:
        found = con.execute("select count(*) from audit.pending_restatements").fetchone()
        if not found or not found[0]:
            return 0
        ledger = ledger_of(settings.data_dir)
        body = circumstances(settings, con, None, code_version())
        create_acts(con, settings.data_dir, body)
        last = con.execute("select max(number) from memory.raw.restated").fetchone()
        values = [last[0] or 0 if last else 0, dt.datetime.now(dt.UTC)]
        _must_all_be_there(con)
        rows = con.execute(CAUSES, values).to_arrow_table().cast(RESTATED)
        if rows.num_rows != found[0]:
            raise FinanceError(
                f"{found[0]} differences to sealed days, and {rows.num_rows} causes: nothing is recorded"
            )
        ledger.append(RESTATED_ACT, body, rows)
        return int(rows.num_rows)


def _must_all_be_there(con: duckdb.DuckDBPyConnection) -> None:
    """Raise FinanceError where a sealed order is in no table any more: no cause is one of ours having lost it."""
    lost = con.execute(
        "select distinct order_id, business_date from audit.pending_restatements "
        "anti join mart.orders using (order_id) order by all"
    ).fetchall()
    if lost:
        shown = ", ".join(f"{order_id} of {day}" for order_id, day in lost[:_SHOWN])
        raise FinanceError(
            f"{len(lost)} sealed orders are in no landed document any more, such as {shown}: bring data/raw back "
            "from a copy, or fetch them again; nothing is published that sealed days do not add up to. "
            '`ordermart close reopen DAY --reason "…"` takes the seal of their day back'
        )


def create_acts(con: duckdb.DuckDBPyConnection, data_dir: Path, present: dict[str, Any]) -> None:
    """Make memory.acts and memory.present: the circumstances of every seal and restatement, and those of now."""
    acts = [entry for entry in ledger_of(data_dir).entries() if "rules" in entry.body]
    rows = pa.table(
        {
            "act_no": pa.array([entry.no for entry in acts], pa.int64()),
            "at": pa.array([entry.moment for entry in acts], _INSTANT),
            "known_to": pa.array([_known_to(entry) for entry in acts], _INSTANT),
            **{
                name: pa.array([_prints(entry.body)[name] for entry in acts], pa.string())
                for name in ("days", "sales", "rules")
            },
        }
    )
    con.from_arrow(rows).create("memory.acts")
    now = {name: pa.array([value], pa.string()) for name, value in _prints(present).items()}
    con.from_arrow(pa.table(now)).create("memory.present")


def recorded(settings: Settings, *, everything: bool = False) -> list[dict[str, Any]]:
    """Return the restatements of the ledger by number: the open ones under seals in force, or all."""
    with _sources(settings) as con:
        rows = con.sql("from memory.raw.restated order by number").to_arrow_table().to_pylist()
    seals = Seals(ledger_of(settings.data_dir).entries())
    for row in rows:
        row["is_close_active"] = seals.of(row["business_date"], row["store_id"]) == row["close_entry_no"]
    return [row for row in rows if everything or (row["posted_period"] is None and row["is_close_active"])]


def post(settings: Settings, period: str) -> Posted:
    """Post every open restatement to a period; nothing is written where none is open."""
    rows = recorded(settings)
    amounts: dict[str, Any] = {}
    for row in rows:
        if row["part"] == "total_price":
            amounts[row["currency"] or ""] = amounts.get(row["currency"] or "", 0) + row["difference"]
    if rows:
        numbers = pa.table({"number": [row["number"] for row in rows]}, schema=POSTED)
        ledger_of(settings.data_dir).append(POSTED_ACT, {"period": period, "rows": len(rows)}, numbers)
    return Posted(period, len(rows), tuple(sorted(amounts.items())))


def _prints(body: dict[str, Any]) -> dict[str, str]:
    """Return a hash per circumstance that can be a cause."""
    return {
        "days": _hash(body["settings"]["business_day"]),
        "sales": _hash(body["settings"]["sales"]),
        "rules": _hash(body["rules"]),
    }


def _known_to(entry: Entry) -> dt.datetime:
    """Return when what an act saw ends: a release is sealed as it was published, whatever was landed since."""
    try:
        started = str(entry.body["release"]).partition("-")[0]
        return dt.datetime.strptime(started, "%Y%m%dT%H%M%S%f").replace(tzinfo=dt.UTC)
    except ValueError:
        return entry.moment


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@contextmanager
def _sources(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'")
        con.execute("create schema raw")
        create_sources(con, settings, *_SOURCES)
        yield con


@contextmanager
def _warehouse(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the warehouse, read-only and the default, beside the sources in `memory.raw`."""
    with _sources(settings) as con:
        con.execute("set memory_limit = ?", [settings.warehouse.memory_limit])
        file = str(warehouse_file(settings.data_dir)).replace("'", "''")
        con.execute(f"attach '{file}' as warehouse (read_only)")
        con.execute("use warehouse")
        yield con
