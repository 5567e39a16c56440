"""Reconcile selected days and stores of a release: sums, breaks, restatements and control totals.

Sums are exact decimals, computed by the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.finance.breaks import create_break_views
from pipelines.finance.control_totals import untied_totals
from pipelines.finance.records import records
from pipelines.finance.released import FinanceError
from pipelines.finance.selection import Selection
from pipelines.landing.charges import PRICES

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
    *PRICES,
    "line_amount",
    "unallocated_amount",
    "subtotal_residual",
    "subtotal_abs_residual",
    "total_residual",
    "total_abs_residual",
)
_DAY = ("currency", "sale_class", "business_date")
_SUMS = ", ".join(
    [
        *(f"cast(sum(rows.{name}) as bigint) as {name}" for name in COUNTS),
        *(f"cast(sum(rows.{name}) as decimal(38, 4)) as {name}" for name in AMOUNTS),
    ]
)


class ReconciliationError(FinanceError):
    """The release cannot be reconciled; the message says why and what to do."""


@dataclass(frozen=True)
class Reconciliation:
    """A reconciliation of an open release; its connection must stay open."""

    db: duckdb.DuckDBPyConnection
    manifest: Manifest
    selection: Selection

    def lines(self) -> list[Record]:
        """Return one row per currency and sale class, with counts and sums: the lines of the summary."""
        return records(
            self.db,
            f"select {LINE} as line, currency, sale_class, {_SUMS} from mart.daily_reconciliations as rows "
            f"where {self.selection.where()} group by currency, sale_class order by line",
        )

    def days(self) -> list[Record]:
        """Return one row per line of the summary and business day, over all stores.

        A closed day that all of its orders left has a row if that is not posted.
        """
        found = records(
            self.db,
            f"select currency, sale_class, business_date, {_SUMS} from mart.daily_reconciliations as rows "
            f"where {self.selection.where()} group by all",
        )
        unposted = self._unposted_by_day()
        for day in found:
            day["unposted_count"] = unposted.pop(tuple(day[key] for key in _DAY), 0)
        nothing = dict.fromkeys(COUNTS, 0) | dict.fromkeys(AMOUNTS, Decimal(0))
        left = [dict(zip(_DAY, key, strict=True)) | nothing | {"unposted_count": n} for key, n in unposted.items()]
        return sorted([*found, *left], key=lambda day: [(day[key] is None, day[key]) for key in _DAY])

    def unposted_restatements(self) -> list[Record]:
        """Return one row per currency and measure with unposted restatements: line, count and sum."""
        return records(
            self.db,
            f"select {RESTATED_LINE} as line, currency, measure, count(*) as restatement_count, "
            "cast(sum(restatement_amount) as decimal(38, 4)) as restatement_amount from mart.restatements as rows "
            f"where {UNPOSTED} and {self.selection.where('closed_business_date')} "
            "group by currency, measure order by line",
        )

    def control_total_variances(self) -> list[Record]:
        """Return the control totals that do not tie out."""
        return [row for row in untied_totals(self.db, self.selection) if row["tie_out_status"] == "variance"]

    def possible_duplicates(self) -> int:
        """Return the number of orders that may repeat another one: a suspicion, not a variance."""
        return self._count("audit.possible_duplicate_orders", "true")

    def populations(self) -> list[tuple[str, str]]:
        """Return scope and sentence of each population, what all orders show of the rules: the largest first."""
        return self.db.execute(
            "select scope, sentence from audit.formula_populations where order_count > 0 "
            "order by rule_target desc, order_count desc, population_no"
        ).fetchall()

    def largest_breaks(self, most: int = 5) -> list[tuple[str | None, list[int]]]:
        """Return each currency with the ids of its largest open breaks, largest first: none ranks across currencies."""
        return self.db.execute(
            f"select currency, list(order_id order by abs_residual desc, order_id)[:{most:d}] "
            f"from open_breaks as rows where {self.selection.where()} group by currency order by currency nulls last"
        ).fetchall()

    def undated_order_count(self) -> int:
        """Return the number of orders that a limit on days excludes because they have no business day."""
        if self.selection.since is None and self.selection.until is None:
            return 0
        store = Selection(store_id=self.selection.store_id).where()
        query = f"select count(*) as n from mart.orders as rows where business_date is null and {store}"
        return int(records(self.db, query)[0]["n"])

    def variances(self) -> dict[str, int]:
        """Return the number of variances by kind."""
        return {
            "break": self._count("open_breaks", "true"),
            "unposted restatement": sum(row["restatement_count"] for row in self.unposted_restatements()),
            "control total variance": len(self.control_total_variances()),
        }

    def accepted_break_count(self) -> int:
        """Return the number of breaks that were accepted as they are."""
        return self._count("breaks", "true") - self._count("open_breaks", "true")

    def is_balanced(self) -> bool:
        """Return whether there are orders, no variances and no indeterminate orders."""
        return bool(self.lines()) and not any(self.variances().values()) and not self.indeterminate_count()

    def indeterminate_count(self) -> int:
        """Return the number of orders whose totals cannot be tested."""
        return sum(int(line["indeterminate_count"]) for line in self.lines())

    def _count(self, table: str, condition: str) -> int:
        query = f"select count(*) as n from {table} as rows where {condition} and {self.selection.where()}"
        return int(records(self.db, query)[0]["n"])

    def _unposted_by_day(self) -> dict[tuple[Any, ...], int]:
        rows = self.db.execute(
            "select currency, sale_class, closed_business_date, count(*) from mart.restatements as rows "
            f"where {UNPOSTED} and {self.selection.where('closed_business_date')} group by all"
        ).fetchall()
        return {tuple(row[:3]): row[3] for row in rows}


# Rows refer to a line of the summary by number: a currency's label comes from outside, and a spreadsheet would read one
# such as ">0" or "*" as a condition.
LINE = "dense_rank() over (order by currency nulls last, sale_class)"
RESTATED_LINE = "dense_rank() over (order by currency nulls last, measure)"
UNPOSTED = "rows.posted_period is null and rows.is_close_active and rows.restatement_amount <> 0"


def reconciliation(release: Released, selection: Selection) -> Reconciliation:
    """Return the reconciliation of an open release; raise ReconciliationError if an older version built it."""
    if not release.has("mart.daily_reconciliations"):
        raise ReconciliationError(
            f"release {release.manifest.id} has no mart.daily_reconciliations: run `ordermart build` to rebuild it"
        )
    create_break_views(release)
    return Reconciliation(release.con, release.manifest, selection)
