"""Read a reconciliation out of a release: what the prices of chosen days and stores add up to, and what does not.

Sums are made by the database in exact decimals. Knows nothing of terminals, workbooks or pages.
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
    "order_count",
    "balanced_count",
    "total_break_count",
    "subtotal_break_count",
    "both_break_count",
    "indeterminate_count",
    "break_count",
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
    """The release cannot be reconciled; the message says why, and what to do."""


@dataclass(frozen=True)
class Selection:
    """Which orders: business days from `since` to `until`, both included, of one store; None does not narrow."""

    since: dt.date | None = None
    until: dt.date | None = None
    store_id: int | None = None

    @classmethod
    def between(cls, since: str, until: str, store_id: int | None = None) -> Selection:
        """Return the selection of days written as 2026-10-31, '' for none; raise SettingsError for what is no day."""
        first, last = _day("--from", since), _day("--to", until)
        if first and last and first > last:
            raise SettingsError(f"no day lies from {first} to {last}: turn the two round")
        return cls(first, last, store_id)

    def where(self, day: str = "business_date") -> str:
        """Return the condition on the rows of a table that names the day so; an order without a day is in no span."""
        parts = []
        if self.since is not None:
            parts.append(f"rows.{day} >= date '{self.since.isoformat()}'")
        if self.until is not None:
            parts.append(f"rows.{day} <= date '{self.until.isoformat()}'")
        if self.store_id is not None:
            parts.append(f"rows.store_id = {self.store_id:d}")
        return " and ".join(parts) or "true"

    @property
    def said(self) -> str:
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
        raise SettingsError(f"{option} {text} is no day: write it as 2026-10-31") from None


@dataclass(frozen=True)
class Reconciliation:
    """A release under reconciliation: the connection must stay open while it is asked."""

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
        """Return one row per line of the summary and business day, over all stores; `open` counts restatements."""
        found = records(
            self.db,
            f"select currency, sale_class, business_date, {_SUMS} from mart.daily_reconciliations as rows "
            f"where {self.selection.where()} group by all "
            "order by currency nulls last, sale_class, business_date nulls last",
        )
        open_ones = self._open_by_day()
        for each in found:
            each["unposted_count"] = open_ones.get((each["currency"], each["sale_class"], each["business_date"]), 0)
        return found

    def open_restatements(self) -> list[Record]:
        """Return one row per currency and part with open restatements: line, how many, and what they add."""
        if not self.has_restatements:
            return []
        return records(
            self.db,
            f"select {RESTATED_LINE} as line, currency, measure, count(*) as restatements, "
            "cast(sum(restatement_amount) as decimal(38, 4)) as restatement_amount from mart.restatements as rows "
            f"where {OPEN} and {self.selection.where('closed_business_date')} group by currency, measure order by line",
        )

    def different_totals(self) -> int:
        """Return how many control totals state other than the orders come to."""
        return self._count("audit.control_totals", "tie_out_status = 'variance'")

    def possible_duplicates(self) -> int:
        """Return how many orders may repeat another one: a suspicion, no variance."""
        return self._count("audit.possible_duplicate_orders", "true")

    def populations(self) -> list[tuple[str, str]]:
        """Return scope and sentence of each population, what all orders show of the rules: the largest first."""
        if "audit.formula_populations" not in self.tables:
            return []
        return self.db.execute(
            "select scope, sentence from audit.formula_populations "
            "order by rule_target desc, order_count desc, population_no"
        ).fetchall()

    def largest_breaks(self, most: int = 5) -> list[int]:
        """Return the ids of the orders that are off by most, the worst first."""
        size = "greatest(coalesce(abs(total_residual), 0), coalesce(abs(subtotal_residual), 0))"
        rows = self.db.execute(
            f"select order_id from mart.order_reconciliation as rows where verdict in {BREAKS} "
            f"and {self.selection.where()} order by {size} desc, order_id limit {most:d}"
        ).fetchall()
        return [order_id for (order_id,) in rows]

    def undated_order_count(self) -> int:
        """Return how many orders a span of days leaves out because their business day is not known."""
        if self.selection.since is None and self.selection.until is None:
            return 0
        store = Selection(store_id=self.selection.store_id).where()
        query = f"select count(*) as n from mart.orders as rows where business_date is null and {store}"
        return int(records(self.db, query)[0]["n"])

    def variances(self) -> dict[str, int]:
        """Return what stands in the way of calling the selection balanced: each kind and how many there are."""
        return {
            "breaks": sum(line["break_count"] for line in self.lines()),
            "open restatements": sum(each["restatements"] for each in self.open_restatements()),
            "control totals that differ": self.different_totals(),
        }

    def verdict(self) -> str:
        """Return in a sentence without a stop what was found; what cannot be told is not called balanced."""
        found = [f"{what}: {number:,}" for what, number in self.variances().items() if number]
        if found:
            return f"Variances: {', '.join(found)}"
        untold = self._untold()
        return f"No variances, but orders that cannot be told: {untold:,}" if untold else "Balanced: no variances"

    def is_balanced(self) -> bool:
        """Return whether nothing is off, and nothing is left that cannot be told."""
        return not any(self.variances().values()) and not self._untold()

    def _untold(self) -> int:
        return sum(int(line["indeterminate_count"]) for line in self.lines())

    @property
    def has_restatements(self) -> bool:
        """Whether the release knows of closed days."""
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


# Lines of the summary are numbered, and rows name their line by its number: a currency's label comes from outside, and
# a spreadsheet would read one such as ">0" or "*" as a condition.
LINE = "dense_rank() over (order by currency nulls last, sale_class)"
RESTATED_LINE = "dense_rank() over (order by currency nulls last, measure)"
OPEN = "rows.posted_period is null and rows.is_close_active and rows.restatement_amount <> 0"


def reconciliation(release: Released, selection: Selection) -> Reconciliation:
    """Return the reconciliation of an open release; raise ReconciliationError where it lacks the tables."""
    tables = frozenset(tables_of(release.con))
    if "mart.daily_reconciliations" not in tables:
        raise ReconciliationError(
            f"release {release.manifest.id} has no mart.daily_reconciliations, an older version made it: "
            "run `ordermart build`"
        )
    return Reconciliation(release.con, release.manifest, selection, tables)
