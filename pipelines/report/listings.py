"""The listings of a reconciliation: their columns, and the rows behind them from `sql/finance/listing_*.sql`.

Rows are streamed out of the database, never all held at once.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pipelines.finance.reconciliation import AMOUNTS, COUNTS
from pipelines.finance.released import query
from pipelines.landing.charges import PRICES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

    from pipelines.finance.reconciliation import Reconciliation

Kind = Literal["text", "prose", "id", "count", "amount", "day", "clock", "instant"]
_AT_ONCE = 2_000


@dataclass(frozen=True)
class Column:
    """A column: its name, what it contains, and whether its sum means something.

    `prose` is a longer text; `id` is a number used as a name; `clock` is a local time in the zone of column `timezone`,
    `instant` is converted to one.
    """

    name: str
    kind: Kind
    is_summed: bool = False


@dataclass(frozen=True)
class Listing:
    """A table to write out: its grain and source, its columns, and a select that gives them in order."""

    name: str
    description: str
    columns: tuple[Column, ...]
    query: str
    values: Mapping[str, Any]

    def count(self, db: duckdb.DuckDBPyConnection) -> int:
        """Return the number of rows."""
        row = db.execute(f"select count(*) from ({self.query})", self.values).fetchone()
        return int(row[0]) if row else 0

    def sums(self, db: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Return the exact sum of each column that can be summed."""
        names = [column.name for column in self.columns if column.is_summed]
        if not names:
            return {}
        sums = ", ".join(f"sum({name})" for name in names)
        row = db.execute(f"select {sums} from ({self.query})", self.values).fetchone()
        return dict(zip(names, row or (), strict=True))

    def largest(self, db: duckdb.DuckDBPyConnection) -> Decimal:
        """Return the largest absolute amount; zero if there is none."""
        largest = ", ".join(f"max(abs({column.name}))" for column in self.columns if column.kind == "amount")
        row = db.execute(f"select {largest} from ({self.query})", self.values).fetchone()
        return max((amount for amount in row or () if amount is not None), default=Decimal(0))

    def rows(self, db: duckdb.DuckDBPyConnection, most: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield at most `most` rows; instants are local times in the row's time zone."""
        zone = next((place for place, column in enumerate(self.columns) if column.name == "timezone"), None)
        instants = [place for place, column in enumerate(self.columns) if column.kind == "instant"]
        limit = "" if most is None else f" limit {most:d}"
        with db.cursor() as cursor:
            cursor.execute("set timezone = 'UTC'")
            cursor.execute(self.query + limit, self.values)
            while rows := cursor.fetchmany(_AT_ONCE):
                for row in rows:
                    yield _localised(row, instants, zone) if instants and zone is not None else row


def listings(reconciled: Reconciliation, *, all_orders: bool) -> list[Listing]:
    """Return the lists below the summary: days, breaks, restatements, evidence; all orders if asked."""
    values = reconciled.selection.values
    chosen = [
        Listing(
            "days",
            "One row per store, business day and sale class, from mart.daily_reconciliations.",
            _DAYS,
            query("listing_days"),
            values,
        ),
        Listing(
            "breaks",
            "One row per order with a break, from mart.order_reconciliation: a question to the partner.",
            _ORDERS,
            query("listing_orders"),
            values | {"only_breaks": True},
        ),
        Listing(
            "orders",
            "One row per order, balanced or not, from mart.order_reconciliation.",
            _ORDERS,
            query("listing_orders"),
            values | {"only_breaks": False},
        ),
        Listing(
            "restatements",
            "One row per change to a closed day, from mart.restatements; never add measures to one another.",
            _RESTATEMENTS,
            query("listing_restatements"),
            values,
        ),
        Listing(
            "evidence",
            "What the figures rest on: the release, the effective rules, their evidence, and findings.",
            _EVIDENCE,
            query("listing_evidence"),
            values | _release(reconciled),
        ),
    ]
    return [listing for listing in chosen if all_orders or listing.name != "orders"]


MEASURES = (
    *(Column(name, "count", is_summed=True) for name in COUNTS),
    *(Column(name, "amount", is_summed=True) for name in AMOUNTS),
)
_STORE = (Column("store_id", "id"), Column("store_name", "text"), Column("currency", "text"))
_DAYS = (
    Column("line", "count"),
    Column("business_date", "day"),
    *_STORE,
    Column("sale_class", "text"),
    *MEASURES,
)
_ORDERS = (
    Column("line", "count"),
    Column("order_id", "id"),
    Column("business_date", "day"),
    *_STORE,
    Column("sale_class", "text"),
    Column("status", "text"),
    Column("created_at_local", "clock"),
    Column("timezone", "text"),
    Column("verdict", "text"),
    *(Column(name, "amount", is_summed=True) for name in (*PRICES, "line_amount", "unallocated_amount")),
    Column("formula_subtotal", "amount", is_summed=True),
    Column("subtotal_residual", "amount", is_summed=True),
    Column("subtotal_likely_cause", "text"),
    Column("formula_total", "amount", is_summed=True),
    Column("total_residual", "amount", is_summed=True),
    Column("total_likely_cause", "text"),
    Column("reason", "text"),
)
_RESTATEMENTS = (
    Column("line", "count"),
    Column("restatement_no", "id"),
    Column("order_id", "id"),
    Column("closed_business_date", "day"),
    *_STORE,
    Column("sale_class", "text"),
    Column("measure", "text"),
    Column("closed_amount", "amount"),
    Column("prior_restated_amount", "amount"),
    Column("current_amount", "amount"),
    Column("restatement_amount", "amount"),
    Column("cause", "text"),
    Column("detected_at", "instant"),
    Column("timezone", "text"),
    Column("posted_period", "text"),
    Column("state", "text"),
)
_EVIDENCE = (
    Column("section", "text"),
    Column("item", "text"),
    Column("detail", "prose"),
    Column("order_count", "count"),
    Column("currency", "text"),
    Column("control_amount", "amount"),
    Column("actual_amount", "amount"),
    Column("amount", "amount"),
)


def _release(reconciled: Reconciliation) -> dict[str, list[str]]:
    manifest = reconciled.manifest
    details = {
        "release": manifest.id,
        "published at": f"{manifest.published_at} (UTC)",
        "selection": reconciled.selection.description,
        "commit of the warehouse": manifest.commit,
        "SHA-256 of the code": manifest.code.get("sha256", ""),
        "hash of the settings": manifest.settings,
    }
    return {"items": list(details), "details": list(details.values())}


def _localised(row: tuple[Any, ...], instants: list[int], zone: int) -> tuple[Any, ...]:
    changed = list(row)
    for place in instants:
        if isinstance(row[place], dt.datetime):
            changed[place] = row[place].astimezone(zoneinfo.ZoneInfo(row[zone])).replace(tzinfo=None)
    return tuple(changed)
