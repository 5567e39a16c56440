"""The tables of a written reconciliation: their columns, and the queries of their rows.

Rows are streamed from the database. Knows nothing of workbooks or pages.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from pipelines.finance.reconciliation import AMOUNTS, BREAKS, COUNTS, LINE, OPEN, RESTATED_LINE
from pipelines.report.statements import statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from pipelines.finance.reconciliation import Reconciliation

Kind = Literal["text", "prose", "id", "count", "amount", "day", "clock", "instant"]
_AT_ONCE = 2_000


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, and whether its sum means something.

    `prose` is long text; an `id` is a number used as a name; a `clock` is a local time in the zone of column
    `timezone`, and an `instant` is converted to one.
    """

    name: str
    kind: Kind
    is_summed: bool = False


@dataclass(frozen=True)
class Listing:
    """A table to write: its description in a sentence, its columns, and a query that returns them in order."""

    name: str
    description: str
    columns: tuple[Column, ...]
    query: str

    def count(self, db: duckdb.DuckDBPyConnection) -> int:
        """Return the number of rows."""
        row = db.execute(f"select count(*) from ({self.query})").fetchone()
        return int(row[0]) if row else 0

    def sums(self, db: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Return the exact sum of each summed column."""
        names = [column.name for column in self.columns if column.is_summed]
        if not names:
            return {}
        row = db.execute(f"select {', '.join(f'sum({name})' for name in names)} from ({self.query})").fetchone()
        return dict(zip(names, row or (), strict=True))

    def largest(self, db: duckdb.DuckDBPyConnection) -> Decimal:
        """Return the largest absolute amount; zero if there is none."""
        names = [column.name for column in self.columns if column.kind == "amount"]
        row = db.execute(f"select {', '.join(f'max(abs({name}))' for name in names)} from ({self.query})").fetchone()
        return max((amount for amount in row or () if amount is not None), default=Decimal(0))

    def rows(self, db: duckdb.DuckDBPyConnection, most: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the rows, at most `most`; instants become local times in the row's timezone."""
        zone = next((index for index, column in enumerate(self.columns) if column.name == "timezone"), None)
        instants = [index for index, column in enumerate(self.columns) if column.kind == "instant"]
        limit = "" if most is None else f" limit {most:d}"
        with db.cursor() as cursor:
            cursor.execute("set timezone = 'UTC'")
            cursor.execute(self.query + limit)
            while rows := cursor.fetchmany(_AT_ONCE):
                for row in rows:
                    yield _localised(row, instants, zone) if instants and zone is not None else row


def listings(reconciled: Reconciliation, *, all_orders: bool) -> list[Listing]:
    """Return the tables below the summary: days, breaks, restatements, evidence; all orders if requested."""
    chosen = [_days(reconciled), _orders(reconciled, "breaks")]
    if all_orders:
        chosen.append(_orders(reconciled, "orders"))
    return [*chosen, _restatements(reconciled), _evidence(reconciled)]


MEASURES = (*(Column(name, "count", True) for name in COUNTS), *(Column(name, "amount", True) for name in AMOUNTS))  # noqa: FBT003
_STORES = "(select store_id, any_value(name) as store_name from core.stores group by store_id)"


def _days(reconciled: Reconciliation) -> Listing:
    names = ", ".join(f"rows.{column.name}" for column in MEASURES)
    return Listing(
        "days",
        "One row per store, business day and sale class, from mart.daily_reconciliations.",
        (
            Column("line", "count"),
            Column("business_date", "day"),
            Column("store_id", "id"),
            Column("store_name", "text"),
            Column("currency", "text"),
            Column("sale_class", "text"),
            *MEASURES,
        ),
        f"select {LINE} as line, business_date, cast(rows.store_id as varchar) as store_id, stores.store_name, "
        f"currency, sale_class, {names} from mart.daily_reconciliations as rows "
        f"left join {_STORES} as stores on rows.store_id = stores.store_id where {reconciled.selection.where()} "
        "order by business_date nulls last, rows.store_id nulls last, sale_class",
    )


def _orders(reconciled: Reconciliation, listing: Literal["breaks", "orders"]) -> Listing:
    amounts = "subtotal_price delivery_price tip discount loyalty_discount total_price line_amount unallocated_amount"
    is_broken = f"rows.verdict in {BREAKS}"
    return Listing(
        listing,
        "One row per order with a break, from mart.order_reconciliation: a question to the partner."
        if listing == "breaks"
        else "One row per order, balanced or not, from mart.order_reconciliation.",
        (
            Column("line", "count"),
            Column("order_id", "id"),
            Column("business_date", "day"),
            Column("store_id", "id"),
            Column("store_name", "text"),
            Column("currency", "text"),
            Column("sale_class", "text"),
            Column("status", "text"),
            Column("created_at_local", "clock"),
            Column("timezone", "text"),
            Column("verdict", "text"),
            *(Column(name, "amount", is_summed=True) for name in amounts.split()),
            Column("formula_subtotal", "amount", is_summed=True),
            Column("subtotal_residual", "amount", is_summed=True),
            Column("subtotal_likely_cause", "text"),
            Column("formula_total", "amount", is_summed=True),
            Column("total_residual", "amount", is_summed=True),
            Column("total_likely_cause", "text"),
            Column("reason", "text"),
        ),
        f"with lines as (select {LINE} as line, currency, sale_class from mart.daily_reconciliations as rows "
        f"where {reconciled.selection.where()} group by currency, sale_class) "
        "select lines.line, cast(rows.order_id as varchar) as order_id, rows.business_date, "
        "cast(rows.store_id as varchar) as store_id, orders.store_name, rows.currency, rows.sale_class, orders.status, "
        "orders.created_at_local, orders.timezone, rows.verdict, "
        + ", ".join(f"rows.{name}" for name in amounts.split())
        + ", rows.formula_subtotal, rows.subtotal_residual, rows.subtotal_likely_cause, rows.formula_total, "
        "rows.total_residual, rows.total_likely_cause, rows.reason "
        "from mart.order_reconciliation as rows inner join mart.orders as orders on rows.order_id = orders.order_id "
        "inner join lines on rows.currency is not distinct from lines.currency and rows.sale_class = lines.sale_class "
        f"where {reconciled.selection.where()} and {is_broken if listing == 'breaks' else 'true'} "
        "order by rows.business_date nulls last, rows.store_id nulls last, rows.order_id",
    )


_RESTATED = (
    Column("line", "count"),
    Column("number", "id"),
    Column("order_id", "id"),
    Column("closed_business_date", "day"),
    Column("store_id", "id"),
    Column("store_name", "text"),
    Column("currency", "text"),
    Column("sale_class", "text"),
    Column("part", "text"),
    Column("sealed", "amount"),
    Column("prior_restated_amount", "amount"),
    Column("now", "amount"),
    Column("difference", "amount"),
    Column("cause", "text"),
    Column("detected_at", "instant"),
    Column("timezone", "text"),
    Column("posted_period", "text"),
    Column("state", "text"),
)


def _restatements(reconciled: Reconciliation) -> Listing:
    says = "One row per difference to a closed day, from mart.restatements; never add parts to one another."
    if not reconciled.has_restatements:
        nothing = ", ".join(f"null as {column.name}" for column in _RESTATED)
        return Listing("restatements", says, _RESTATED, f"select {nothing} where false")
    where = reconciled.selection.where("closed_business_date")
    return Listing(
        "restatements",
        says,
        _RESTATED,
        f"with opened as (select number, {RESTATED_LINE} as line from mart.restatements as rows "
        f"where {OPEN} and {where}) "
        "select opened.line, cast(rows.number as varchar) as number, cast(rows.order_id as varchar) as order_id, "
        "rows.closed_business_date, cast(rows.store_id as varchar) as store_id, stores.store_name, rows.currency, "
        "rows.sale_class, rows.part, rows.sealed, rows.prior_restated_amount, rows.now, rows.difference, rows.cause, "
        "rows.detected_at, coalesce(zones.timezone, 'UTC') as timezone, rows.posted_period, "
        "case when not rows.is_close_active then 'seal reopened' when rows.posted_period is not null then 'posted' "
        "else 'open' end as state from mart.restatements as rows left join opened on rows.number = opened.number "
        f"left join {_STORES} as stores on rows.store_id = stores.store_id "
        "left join (select store_id, any_value(timezone) as timezone from mart.orders group by store_id) as zones "
        f"on rows.store_id = zones.store_id where {where} order by cast(rows.number as bigint)",
    )


def _evidence(reconciled: Reconciliation) -> Listing:
    return Listing(
        "evidence",
        "Evidence for the figures: the release, the rules in force, how orders support them, and findings.",
        (
            Column("section", "text"),
            Column("item", "text"),
            Column("statement", "prose"),
            Column("orders", "count"),
            Column("amount", "amount"),
        ),
        statements(reconciled),
    )


def _localised(row: tuple[Any, ...], instants: list[int], zone: int) -> tuple[Any, ...]:
    changed = list(row)
    for index in instants:
        if isinstance(row[index], dt.datetime):
            changed[index] = row[index].astimezone(zoneinfo.ZoneInfo(row[zone])).replace(tzinfo=None)
    return tuple(changed)
