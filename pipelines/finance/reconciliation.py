"""Reconcile a release: sums, breaks and variances of the selected days and stores, in exact decimals.

Knows nothing of how they are shown.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.finance.records import records, tables_of
from pipelines.finance.released import FinanceError
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    import duckdb

    from pipelines.finance.released import Released
    from pipelines.warehouse.release.manifest import Manifest

Record = dict[str, Any]

COUNTS = (
    "orders",
    "balanced_count",
    "total_break_count",
    "subtotal_break_count",
    "both_break_count",
    "indeterminate_count",
    "breaks",
)
AMOUNTS = (
    "subtotal_price",
    "delivery_price",
    "tip",
    "discount",
    "loyalty_discount",
    "total_price",
    "line_amount",
    "unallocated_amount",
    "subtotal_residual",
    "subtotal_abs_residual",
    "total_residual",
    "total_abs_residual",
)
BREAKS = "('total_break', 'subtotal_break', 'both_break')"
_SUMS = ", ".join(
    [
        *(f"cast(sum(rows.{name}) as bigint) as {name}" for name in COUNTS),
        *(f"cast(sum(rows.{name}) as decimal(38, 4)) as {name}" for name in AMOUNTS),
    ]
)


class ReconciliationError(FinanceError):
    """The release cannot be reconciled; the message says why and what to do."""


@dataclass(frozen=True)
class Selection:
    """The selected orders: business days from `since` to `until` (inclusive), of one store; None is no limit."""

    since: dt.date | None = None
    until: dt.date | None = None
    store_id: int | None = None

    @classmethod
    def between(cls, since: str, until: str, store_id: int | None = None) -> Selection:
        """Return the selection of days written as 2026-10-31, '' for no limit; raise SettingsError for invalid ones."""
        first, last = _day("--from", since), _day("--to", until)
        if first and last and first > last:
            raise SettingsError(f"--from {first} is after --to {last}: swap them")
        return cls(first, last, store_id)

    def where(self, day: str = "business_date") -> str:
        """Return the condition on `rows` whose day is in this column; rows without a day match no limited span."""
        parts = []
        if self.since is not None:
            parts.append(f"rows.{day} >= date '{self.since.isoformat()}'")
        if self.until is not None:
            parts.append(f"rows.{day} <= date '{self.until.isoformat()}'")
        if self.store_id is not None:
            parts.append(f"rows.store_id = {self.store_id:d}")
        return " and ".join(parts) or "true"

    @property
    def description(self) -> str:
        """The selection in words."""
        since, until = self.since, self.until
        days = (
            f"business days {since} to {until}"
            if since and until
            else f"business days from {since}"
            if since
            else f"business days to {until}"
            if until
            else "all business days"
        )
        return f"{days}, " + ("all stores" if self.store_id is None else f"store {self.store_id}")


def _day(option: str, text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"{option}: '{text}' is not a date; use YYYY-MM-DD, e.g. 2026-10-31") from None


@dataclass(frozen=True)
class Reconciliation:
    """The reconciliation of a release; the connection must stay open while it is used."""

    db: duckdb.DuckDBPyConnection
    manifest: Manifest
    selection: Selection
    tables: frozenset[str]

    def lines(self) -> list[Record]:
        """Return one row per currency and sale class, with counts and exact sums: the lines of the summary."""
        return records(
            self.db,
            f"select {LINE} as line, currency, sale_class, {_SUMS} from mart.daily_reconciliations as rows "
            f"where {self.selection.where()} group by currency, sale_class order by line",
        )

    def days(self) -> list[Record]:
        """Return one row per line of the summary and business day, over all stores, with unposted restatements."""
        found = records(
            self.db,
            f"select currency, sale_class, business_date, {_SUMS} from mart.daily_reconciliations as rows "
            f"where {self.selection.where()} group by all "
            "order by currency nulls last, sale_class, business_date nulls last",
        )
        open_ones = self._open_by_day()
        for each in found:
            each["open"] = open_ones.get((each["currency"], each["sale_class"], each["business_date"]), 0)
        return found

    def open_restatements(self) -> list[Record]:
        """Return one row per currency and measure with unposted restatements: line, count and sum."""
        if not self.has_restatements:
            return []
        return records(
            self.db,
            f"select {RESTATED_LINE} as line, currency, part, count(*) as restatements, "
            "cast(sum(difference) as decimal(38, 4)) as difference from mart.restatements as rows "
            f"where {OPEN} and {self.selection.where('closed_business_date')} group by currency, part order by line",
        )

    def different_totals(self) -> int:
        """Return how many control totals have a variance."""
        return self._count("audit.control_totals", "comparison = 'different'")

    def possible_duplicates(self) -> int:
        """Return how many orders may duplicate another one: a suspicion, not a variance."""
        return self._count("audit.possible_duplicate_orders", "true")

    def largest_breaks(self, most: int = 5) -> list[int]:
        """Return the ids of the orders with the largest residuals, largest first."""
        size = "greatest(coalesce(abs(total_residual), 0), coalesce(abs(subtotal_residual), 0))"
        rows = self.db.execute(
            f"select order_id from mart.order_reconciliation as rows where verdict in {BREAKS} "
            f"and {self.selection.where()} order by {size} desc, order_id limit {most:d}"
        ).fetchall()
        return [order_id for (order_id,) in rows]

    def undated_order_count(self) -> int:
        """Return how many orders a limited span excludes because their business day is unknown."""
        if self.selection.since is None and self.selection.until is None:
            return 0
        store = Selection(store_id=self.selection.store_id).where()
        query = f"select count(*) as n from mart.orders as rows where business_date is null and {store}"
        return int(records(self.db, query)[0]["n"])

    def variances(self) -> dict[str, int]:
        """Return how many variances of each kind there are."""
        return {
            "break": sum(line["breaks"] for line in self.lines()),
            "unposted restatement": sum(row["restatements"] for row in self.open_restatements()),
            "control total variance": self.different_totals(),
        }

    def is_balanced(self) -> bool:
        """Return whether every order is balanced: no variances, and no indeterminate orders."""
        return not any(self.variances().values()) and not self.indeterminate_count()

    def indeterminate_count(self) -> int:
        """Return how many orders are indeterminate."""
        return sum(int(line["indeterminate_count"]) for line in self.lines())

    @property
    def has_restatements(self) -> bool:
        """Whether the release has the tables of closed days."""
        return "mart.restatements" in self.tables

    def _count(self, table: str, condition: str) -> int:
        if table not in self.tables:
            return 0
        query = f"select count(*) as n from {table} as rows where {condition} and {self.selection.where()}"
        return int(records(self.db, query)[0]["n"])

    def _open_by_day(self) -> dict[tuple[Any, ...], int]:
        if not self.has_restatements:
            return {}
        rows = self.db.execute(
            "select currency, sale_class, closed_business_date, count(*) from mart.restatements as rows "
            f"where {OPEN} and {self.selection.where('closed_business_date')} group by all"
        ).fetchall()
        return {tuple(row[:3]): row[3] for row in rows}


# Rows refer to a line of the summary by its number: currency labels are untrusted, and a spreadsheet would read one
# such as ">0" or "*" as a condition.
LINE = "dense_rank() over (order by currency nulls last, sale_class)"
RESTATED_LINE = "dense_rank() over (order by currency nulls last, part)"
OPEN = "rows.posted_period is null and rows.is_close_active and rows.difference <> 0"


def reconciliation(release: Released, selection: Selection) -> Reconciliation:
    """Return the reconciliation of an open release; raise ReconciliationError if it lacks the tables."""
    tables = frozenset(tables_of(release.con))
    if "mart.daily_reconciliations" not in tables:
        raise ReconciliationError(
            f"release {release.manifest.id} lacks mart.daily_reconciliations, an older version made it: "
            "run `ordermart build`"
        )
    return Reconciliation(release.con, release.manifest, selection, tables)
