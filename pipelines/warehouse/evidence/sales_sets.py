"""Judge which statuses are sales: sets of them, against the control totals of store-days.

A set ties a store-day when the orders with a status of the set equal each of its totals in number and amount. Two sets
are distinguished by a store-day on which their figures differ. A set is a mask: bit n is the n-th status by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pipelines.warehouse.catalogue.generated_selects import filled
from pipelines.warehouse.evidence.verdicts import read_asked
from pipelines.warehouse.inputs.relations import fill

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.evidence.verdicts import Asked

MOST_STATUSES = 10  # 1,023 sets
RELATION = "raw.sales_sets"
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Totals:
    """The control totals of comparable store-days, [total] or [total, status]."""

    statuses: list[str]
    starts: Ints
    """The first total of each store-day."""
    stated_counts: Ints
    has_count: npt.NDArray[np.bool_]
    stated_amounts: Ints
    has_amount: npt.NDArray[np.bool_]
    counts: Ints
    amounts: Ints

    def figures(self, mask: int) -> tuple[Ints, Ints]:
        """Return number and amount of the orders in the set, by total; 0 where the total does not state it."""
        bits = np.array([mask >> place & 1 for place in range(len(self.statuses))], dtype=np.int64)
        return self.counts @ bits * self.has_count, self.amounts @ bits * self.has_amount

    def by_day(self, of_total: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return, by store-day, whether something is so of all its totals."""
        return np.logical_and.reduceat(of_total, self.starts)

    def tied(self, mask: int) -> npt.NDArray[np.bool_]:
        """Return, by store-day, whether the set ties it."""
        counts, amounts = self.figures(mask)
        return self.by_day((counts == self.stated_counts) & (amounts == self.stated_amounts))


def gather_sales_sets(con: duckdb.DuckDBPyConnection) -> None:
    """Fill raw.sales_sets from mart.orders, raw.control_totals and raw.settings."""
    found = con.execute(filled("sales_set_days")).fetchnumpy()
    statuses = sorted(set(map(str, found["status"])))
    if len(statuses) > MOST_STATUSES:
        rows = [_row(statuses, reason=f"{len(statuses)} statuses: sets are compared for up to {MOST_STATUSES}")]
    else:
        totals = _totals(found, statuses)
        counted = (con.execute("select sales_counted from raw.settings").fetchone() or ([],))[0]
        rows = _judged(totals, read_asked(con), set(counted or ())) if len(totals.starts) else []
    fill(con, RELATION, rows)


def _totals(found: dict[str, Any], statuses: list[str]) -> Totals:
    rows = np.flatnonzero(found["is_comparable"])
    total, first = np.unique(found["total_no"][rows], return_index=True)
    place = np.searchsorted(total, found["total_no"][rows])
    status = np.searchsorted(np.array(statuses), found["status"][rows].astype(str)) if len(rows) else []
    counts = np.zeros((len(total), len(statuses)), dtype=np.int64)
    amounts = np.zeros_like(counts)
    counts[place, status] = found["order_count"][rows]
    amounts[place, status] = found["amount"][rows]
    first = rows[first]
    stated = np.ma.masked_array(found["stated_order_count"][first])
    _, starts = np.unique(found["store_day_no"][first], return_index=True)
    return Totals(
        statuses,
        starts.astype(np.int64),
        stated.filled(0).astype(np.int64),
        ~np.ma.getmaskarray(stated),
        found["stated_amount"][first],
        found["is_amount_stated"][first],
        counts,
        amounts,
    )


def _judged(totals: Totals, asked: Asked, counted: set[str]) -> list[dict[str, Any]]:
    """Return the rows of all sets that are not empty, judged against the one that ties most store-days."""
    days, enough = len(totals.starts), 1 - asked.noise
    masks = range(1, 1 << len(totals.statuses))
    ties = {mask: int(totals.tied(mask).sum()) for mask in masks}
    leader = min(masks, key=lambda mask: (-ties[mask], mask.bit_count(), mask))
    lead_counts, lead_amounts = totals.figures(leader)
    leader_tied = totals.tied(leader)
    rows, rivals = {}, []
    for mask in masks:
        counts, amounts = totals.figures(mask)
        differs = ~totals.by_day((counts == lead_counts) & (amounts == lead_amounts))
        distinguishing, leads = int(differs.sum()), int((differs & leader_tied).sum())
        is_beaten = distinguishing >= asked.orders and leads >= enough * distinguishing
        if mask != leader and not is_beaten:
            rivals.append((distinguishing, mask, leads))
        rows[mask] = _row(
            _named(totals, mask),
            is_configured=set(_named(totals, mask)) == counted & set(totals.statuses),
            verdict="refuted" if is_beaten else "undecided" if distinguishing else "indistinguishable",
            store_day_count=days,
            tied_store_day_count=ties[mask],
            distinguishing_day_count=distinguishing,
            distinguishing_tied_count=int((differs & totals.tied(mask)).sum()),
        )
    tied = ties[leader]
    is_proposed = not rivals and tied >= enough * days and days >= asked.orders
    if days < asked.orders:
        reason = f"{days} comparable store-days; {asked.orders} are required"
    elif tied < enough * days:
        reason = f"no set ties enough: the best one ties {tied} of {days} store-days"
    elif rivals:
        distinguishing, mask, leads = min(rivals)
        reason = (
            f"too few store-days distinguish it from {' + '.join(_named(totals, mask))}: {distinguishing}, "
            f"of which it ties {leads}"
        )
    else:
        reason = f"ties {tied} of {days} store-days; every rival is refuted"
    rows[leader] |= {"verdict": "proposed" if is_proposed else "undecided", "reason": reason}
    return list(rows.values())


def _named(totals: Totals, mask: int) -> list[str]:
    return [status for place, status in enumerate(totals.statuses) if mask >> place & 1]


def _row(statuses: list[str], **values: Any) -> dict[str, Any]:
    return {
        "statuses": statuses,
        "is_configured": False,
        "verdict": "undecided",
        "reason": None,
        "store_day_count": 0,
        "tied_store_day_count": 0,
        "distinguishing_day_count": 0,
        "distinguishing_tied_count": 0,
    } | values
