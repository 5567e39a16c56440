"""Inputs of a build that no load brings: ledger entries, logs of other packages, what settings and their files say.

Each is one relation of schema `raw`, its columns declared in `inputs.RAW`. A build remembers the state of every source
that it read; a table is recomputed when a source that it reads has another one. A table of scope order (menu, store)
that reads a source is then recomputed whole: such a source may change its values, never which rows it has.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.inbox.deliveries import deliveries, span
from pipelines.inbox.plans import plans, plans_state
from pipelines.landing.service_log import service_log, service_log_state
from pipelines.ledger import Ledger, effective_totals
from pipelines.ledger.totals import ACT
from pipelines.settings.assumptions import assumptions
from pipelines.warehouse import inputs
from pipelines.warehouse.inputs import breaks, closes
from pipelines.warehouse.inputs.reference import categories
from pipelines.warehouse.inputs.sentences import sentences
from pipelines.warehouse.inputs.verifications import verifications, verifications_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import duckdb

    from pipelines.settings import Settings

ASSUMED = "raw.assumptions"
CATEGORIES = "raw.product_categories"
SENTENCES = "raw.question_sentences"
_ACTS = (
    "raw.control_totals",
    "raw.day_closes",
    "raw.closed_orders",
    "raw.closed_rules",
    "raw.closed_scopes",
    "raw.closed_components",
    "raw.restated",
    "raw.break_decisions",
)  # their state: the last act


@dataclass(frozen=True)
class Source:
    """Where a relation comes from; both functions get the data folder.

    `state` costs next to nothing and differs when the rows do. `create` fills the empty table of that name.
    """

    state: Callable[[Path], str]
    create: Callable[[duckdb.DuckDBPyConnection, str, Path], None]


def states(settings: Settings) -> dict[str, str]:
    """Return source → state, to be read before the rows: what comes in between is seen by the next build."""
    return {
        **{name: source.state(settings.data_dir) for name, source in SOURCES.items()},
        **{
            name: hashlib.sha256(json.dumps(rows(settings)).encode()).hexdigest() for name, rows in _OF_SETTINGS.items()
        },
    }


def create_sources(con: duckdb.DuckDBPyConnection, settings: Settings, *only: str) -> None:
    """Make the table of each source, or only of those named."""
    for name in only or (*SOURCES, *_OF_SETTINGS):
        columns = ", ".join(f'"{column}" {kind}' for column, kind in inputs.RAW[name].items())
        con.execute(f"create or replace table {name} ({columns})")
        if name in _OF_SETTINGS:
            arrays = [pa.array(values) for values in zip(*_OF_SETTINGS[name](settings), strict=True)]
            if arrays:
                con.from_arrow(pa.table(arrays, names=list(inputs.RAW[name]))).insert_into(name)
        else:
            SOURCES[name].create(con, name, settings.data_dir)


def _assumptions(settings: Settings) -> list[tuple[int, str, str, str, str, str]]:
    """Return the rows of raw.assumptions: what settings answer, and no secret, as each is shown to readers."""
    return [
        (number, each.question, each.section, each.undocumented, assumed, each.ask)
        for number, each, assumed in assumptions(settings)
    ]


# What settings, the files that they name, and this package say: the rows of a source, which are its state, too.
_OF_SETTINGS: dict[str, Callable[[Settings], list[Any]]] = {
    ASSUMED: _assumptions,
    CATEGORIES: categories,
    SENTENCES: lambda _: sentences(),
}


def _inbox(data_dir: Path) -> Path:
    return data_dir / "inbox" / "worklist.sqlite"


def _hints_state(data_dir: Path) -> str:
    path = _inbox(data_dir)
    return "{}-{}".format(*span(path)) if path.exists() else ""


def _create_hints(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    if not _inbox(data_dir).exists():
        return
    named = [each for each in deliveries(_inbox(data_dir)) if each.id is not None]
    rows = pa.table(
        {
            "seq": pa.array([each.seq for each in named], pa.int64()),
            "received_at": pa.array([each.received_at for each in named], pa.timestamp("us", tz="UTC")),
            "topic": pa.array([each.topic for each in named], pa.string()),
            "kind": pa.array([each.kind for each in named], pa.string()),
            "id": pa.array([each.id for each in named], pa.int64()),
        }
    )
    con.from_arrow(rows).insert_into(name)


def _plans_state(data_dir: Path) -> str:
    path = _inbox(data_dir)
    return plans_state(path) if path.exists() else ""


def _create_plans(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    if not _inbox(data_dir).exists():
        return
    kept = plans(_inbox(data_dir))
    counts = {
        "due": [each.due for each in kept],
        "left_out": [each.left_out for each in kept],
        "population": [each.population for each in kept],
        "sampled": [len(each.sample) for each in kept],
        "checked": [each.checked for each in kept],
        "changed": [each.changed for each in kept],
        "missing": [each.missing for each in kept],
    }
    shares = {
        "confidence": [each.confidence for each in kept],
        "share_low": [each.low for each in kept],
        "share_high": [each.high for each in kept],
    }
    gaps = {
        "gap_requested_count": [len(each.gap) for each in kept],
        "gap_found_count": [each.gap_found_count for each in kept],
        "gap_unnotified_count": [each.gap_unnotified_count for each in kept],
    }
    rows = pa.table(
        {
            "plan_no": pa.array([each.no for each in kept], pa.int64()),
            "planned_at": pa.array([each.planned_at for each in kept], pa.timestamp("us", tz="UTC")),
            **{column: pa.array(values, pa.int64()) for column, values in counts.items()},
            **{column: pa.array(values, pa.float64()) for column, values in shares.items()},
            **{column: pa.array(values, pa.int64()) for column, values in gaps.items()},
        }
    )
    con.from_arrow(rows).insert_into(name)


def _create_verifications(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    log = verifications(data_dir)
    rows = pa.table(
        {
            "verification_no": pa.array([each.no for each in log], pa.int64()),
            "verified_at": pa.array([each.verified_at for each in log], pa.timestamp("us", tz="UTC")),
            "part": pa.array([each.part for each in log], pa.string()),
            "first_order_id": pa.array([each.first_order_id for each in log], pa.int64()),
            "last_order_id": pa.array([each.last_order_id for each in log], pa.int64()),
            "business_date": pa.array([each.business_date for each in log], pa.date32()),
            "order_count": pa.array([each.order_count for each in log], pa.int64()),
            "table_count": pa.array([each.table_count for each in log], pa.int64()),
            "difference_count": pa.array([each.difference_count for each in log], pa.int64()),
            "first_difference": pa.array([each.first_difference for each in log], pa.string()),
            "release_id": pa.array([each.release_id for each in log], pa.string()),
            "duration_ms": pa.array([each.duration_ms for each in log], pa.int64()),
        }
    )
    con.from_arrow(rows).insert_into(name)


def _create_control_totals(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    totals = effective_totals(Ledger(data_dir / "ledger"))
    rows = pa.table(
        {
            "entry_no": pa.array([entry.no for entry, _ in totals], pa.int64()),
            "imported_at": pa.array([entry.moment for entry, _ in totals], pa.timestamp("us", tz="UTC")),
            "business_date": pa.array([total.business_date for _, total in totals], pa.date32()),
            "store_id": pa.array([total.store_id for _, total in totals], pa.int64()),
            "order_count": pa.array([total.order_count for _, total in totals], pa.int64()),
            "amount": pa.array([total.amount for _, total in totals], pa.decimal128(38, 4)),
            "amount_field": pa.array([total.amount_field for _, total in totals], pa.string()),
            "sale_classes": pa.array([total.sale_classes for _, total in totals], pa.string()),
        }
    )
    con.from_arrow(rows).insert_into(name)


def _create_service_log(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    held = list(service_log(data_dir))
    rows = pa.table(
        {
            "day": pa.array([dt.date.fromisoformat(day) for day, _ in held], pa.date32()),
            "operation": pa.array([each.operation for _, each in held], pa.string()),
            "aspect": pa.array([each.aspect for _, each in held], pa.string()),
            "name": pa.array([each.name for _, each in held], pa.string()),
            "n": pa.array([each.n for _, each in held], pa.int64()),
            "least": pa.array([each.least for _, each in held], pa.float64()),
            "greatest": pa.array([each.greatest for _, each in held], pa.float64()),
            "first_at": pa.array([each.first_at for _, each in held], pa.timestamp("us", tz="UTC")),
            "last_at": pa.array([each.last_at for _, each in held], pa.timestamp("us", tz="UTC")),
        }
    )
    con.from_arrow(rows).insert_into(name)


SOURCES: dict[str, Source] = {
    "raw.service_log": Source(service_log_state, _create_service_log),
    "raw.hints": Source(_hints_state, _create_hints),
    "raw.plans": Source(_plans_state, _create_plans),
    "raw.verifications": Source(verifications_state, _create_verifications),
    "raw.control_totals": Source(closes.state_of(ACT), _create_control_totals),
    "raw.day_closes": Source(closes.DAY_CLOSES_STATE, closes.create_day_closes),
    "raw.closed_orders": Source(closes.CLOSED_ORDERS_STATE, closes.create_closed_orders),
    "raw.closed_rules": Source(closes.CLOSED_ORDERS_STATE, closes.create_closed_rules),
    "raw.closed_scopes": Source(closes.CLOSED_ORDERS_STATE, closes.create_closed_scopes),
    "raw.closed_components": Source(closes.CLOSED_ORDERS_STATE, closes.create_closed_components),
    "raw.restated": Source(closes.RESTATED_STATE, closes.create_restated),
    "raw.break_decisions": Source(closes.state_of(*breaks.ACTS), breaks.create_break_decisions),
}
