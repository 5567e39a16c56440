"""The tables that a reconciliation is written out in: their columns, in order, and the rows behind them.

Rows are streamed out of the database, never all held at once. Knows nothing of workbooks or pages.
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
    """A column: its name, what it holds, and whether adding it up means something.

    `prose` is a text of some length; an `id` is a number that is a name; a `clock` is a local time of the zone that
    column `timezone` names, an `instant` becomes one.
    """

    name: str
    kind: Kind
    is_summed: bool = False


@dataclass(frozen=True)
class Listing:
    """A table to be written out: what it says in one sentence, its columns, and a select that gives them in order."""

    name: str
    says: str
    columns: tuple[Column, ...]
    query: str

    def count(self, db: duckdb.DuckDBPyConnection) -> int:
        """Return how many rows there are."""
        row = db.execute(f"select count(*) from ({self.query})").fetchone()
        return int(row[0]) if row else 0

    def sums(self, db: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Return the exact sum of each column that may be added up."""
        names = [column.name for column in self.columns if column.is_summed]
        if not names:
            return {}
        row = db.execute(f"select {', '.join(f'sum({name})' for name in names)} from ({self.query})").fetchone()
        return dict(zip(names, row or (), strict=True))

    def largest(self, db: duckdb.DuckDBPyConnection) -> Decimal:
        """Return the largest amount in it, without its sign; zero where there is none."""
        names = [column.name for column in self.columns if column.kind == "amount"]
        row = db.execute(f"select {', '.join(f'max(abs({name}))' for name in names)} from ({self.query})").fetchone()
        return max((each for each in row or () if each is not None), default=Decimal(0))

    def rows(self, db: duckdb.DuckDBPyConnection, most: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Give the rows, `most` at most; instants come as the local time of the row's timezone."""
        zone = next((place for place, column in enumerate(self.columns) if column.name == "timezone"), None)
        instants = [place for place, column in enumerate(self.columns) if column.kind == "instant"]
        limit = "" if most is None else f" limit {most:d}"
        with db.cursor() as cursor:
            cursor.execute("set timezone = 'UTC'")
            cursor.execute(self.query + limit)
            while rows := cursor.fetchmany(_AT_ONCE):
                for row in rows:
                    yield _localised(row, instants, zone) if instants and zone is not None else row


def listings(reconciled: Reconciliation, *, all_orders: bool) -> list[Listing]:
    """Return what is written out below the summary: days, breaks, restatements, evidence; all orders when asked."""
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


def _orders(reconciled: Reconciliation, name: Literal["breaks", "orders"]) -> Listing:
    amounts = "subtotal_price delivery_price tip discount loyalty_discount total_price line_amount unallocated_amount"
    is_broken = f"rows.verdict in {BREAKS}"
    return Listing(
        name,
        "One row per order whose total or lines are off, from mart.order_reconciliation: a question to the partner."
        if name == "breaks"
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
            *(Column(each, "amount", is_summed=True) for each in amounts.split()),
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
        + ", ".join(f"rows.{each}" for each in amounts.split())
        + ", rows.formula_subtotal, rows.subtotal_residual, rows.subtotal_likely_cause, rows.formula_total, "
        "rows.total_residual, rows.total_likely_cause, rows.reason "
        "from mart.order_reconciliation as rows inner join mart.orders as orders on rows.order_id = orders.order_id "
        "inner join lines on rows.currency is not distinct from lines.currency and rows.sale_class = lines.sale_class "
        f"where {reconciled.selection.where()} and {is_broken if name == 'breaks' else 'true'} "
        "order by rows.business_date nulls last, rows.store_id nulls last, rows.order_id",
    )


_RESTATED = (
    Column("line", "count"),
    Column("restatement_no", "id"),
    Column("order_id", "id"),
    Column("closed_business_date", "day"),
    Column("store_id", "id"),
    Column("store_name", "text"),
    Column("currency", "text"),
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


def _restatements(reconciled: Reconciliation) -> Listing:
    says = "One row per change to a closed day, from mart.restatements; never add measures to one another."
    if not reconciled.has_restatements:
        nothing = ", ".join(f"null as {column.name}" for column in _RESTATED)
        return Listing("restatements", says, _RESTATED, f"select {nothing} where false")
    where = reconciled.selection.where("closed_business_date")
    return Listing(
        "restatements",
        says,
        _RESTATED,
        f"with opened as (select restatement_no, {RESTATED_LINE} as line from mart.restatements as rows "
        f"where {OPEN} and {where}) "
        "select opened.line, cast(rows.restatement_no as varchar) as restatement_no, "
        "cast(rows.order_id as varchar) as order_id, "
        "rows.closed_business_date, cast(rows.store_id as varchar) as store_id, stores.store_name, rows.currency, "
        "rows.sale_class, rows.measure, rows.closed_amount, rows.prior_restated_amount, rows.current_amount, "
        "rows.restatement_amount, rows.cause, "
        "rows.detected_at, coalesce(zones.timezone, 'UTC') as timezone, rows.posted_period, "
        "case when not rows.is_close_active then 'day reopened' when rows.posted_period is not null then 'posted' "
        "else 'unposted' end as state from mart.restatements as rows "
        "left join opened on rows.restatement_no = opened.restatement_no "
        f"left join {_STORES} as stores on rows.store_id = stores.store_id "
        "left join (select store_id, any_value(timezone) as timezone from mart.orders group by store_id) as zones "
        f"on rows.store_id = zones.store_id where {where} order by rows.restatement_no",
    )


def _evidence(reconciled: Reconciliation) -> Listing:
    return Listing(
        "evidence",
        "What the figures rest on: the release, the rules in force, what the orders say about them, what was found.",
        (
            Column("section", "text"),
            Column("item", "text"),
            Column("says", "prose"),
            Column("orders", "count"),
            Column("amount", "amount"),
        ),
        statements(reconciled),
    )


def _localised(row: tuple[Any, ...], instants: list[int], zone: int) -> tuple[Any, ...]:
    changed = list(row)
    for place in instants:
        if isinstance(row[place], dt.datetime):
            changed[place] = row[place].astimezone(zoneinfo.ZoneInfo(row[zone])).replace(tzinfo=None)
    return tuple(changed)
