"""Find blockers in the books of a period: breaks, control totals, store-days without orders, fiscal periods.

Reads the view orders_to_close, which blockers.py creates.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

from pipelines.finance.breaks import create_break_views
from pipelines.finance.control_totals import describe_total, untied_totals
from pipelines.finance.currencies import money_of
from pipelines.finance.periods import gaps
from pipelines.finance.records import records
from pipelines.finance.released import query
from pipelines.finance.selection import Selection
from pipelines.ledger import effective_totals
from pipelines.ledger.decisions import accepted_without_orders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pipelines.finance.periods import Period
    from pipelines.finance.released import Released
    from pipelines.ledger import Closes
    from pipelines.settings import Settings

_SHOWN = 5
StoreDay = tuple[dt.date, int]


def find_book_blockers(
    settings: Settings, released: Released, closes: Closes, period: Period, store_id: int | None
) -> Iterator[str]:
    """Yield one sentence for each blocker on open days."""
    selection = Selection(period.first_day, period.last_day, store_id)
    yield from _breaks(settings, released, closes, selection)
    yield from _control_totals(released, closes, selection)
    if settings.closing.require_control_totals:
        yield from _absent_totals(released)
    empty = [
        (day, store) for day, store in days_without_orders(released, period, store_id) if not closes.of(day, store)
    ]
    if empty:
        yield (
            f"stores without orders on days that usually have some: {_store_days(empty)}; fetch them, or accept them: "
            '`ordermart close accept-no-orders DAY --reason "…"`'
        )
    for before, after in gaps(settings):
        if before.last_day < period.last_day:
            first, last = before.last_day + dt.timedelta(days=1), after.first_day - dt.timedelta(days=1)
            days = f"{first} is" if first == last else f"{first} to {last} are"
            yield f"gap between fiscal periods: {days} neither in {before.name} nor in {after.name}; correct the file"


def days_without_orders(released: Released, period: Period, store_id: int | None) -> list[StoreDay]:
    """Return the store-days without orders that usually have some, less those that were accepted."""
    values = {"first_day": period.first_day, "last_day": period.last_day, "store_id": store_id}
    found = released.con.execute(query("days_without_orders"), values).fetchall()
    accepted = accepted_without_orders(released.ledger.entries())
    return [(day, store) for day, store in found if (day, store) not in accepted]


def _breaks(settings: Settings, released: Released, closes: Closes, selection: Selection) -> Iterator[str]:
    """Yield the open breaks above the tolerance of their currency, which sums are never added across."""
    create_break_views(released)
    rows = records(
        released.con,
        "select currency, order_id, abs_residual, business_date, store_id from open_breaks as rows "
        f"where {selection.where()} order by currency nulls last, order_id",
    )
    by_currency: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if closes.of(row["business_date"], row["store_id"]):
            continue
        if row["abs_residual"] > Decimal(settings.closing.tolerance.get(row["currency"] or "", "0")):
            by_currency.setdefault(row["currency"] or "", []).append(row)
    for currency, breaks in by_currency.items():
        added = money_of(sum((row["abs_residual"] for row in breaks), Decimal(0)), currency)
        ids = _listed([str(row["order_id"]) for row in breaks])
        yield f"breaks above the tolerance: {ids}, absolute residuals {added}; see `ordermart breaks list`"


def _control_totals(released: Released, closes: Closes, selection: Selection) -> Iterator[str]:
    known = {
        tuple(row)
        for row in released.con.execute(
            "select business_date, store_id, amount_field, sale_classes, entry_no from audit.control_totals"
        ).fetchall()
    }
    later = [
        total
        for entry, total in effective_totals(released.ledger)
        if (*total.key, entry.no) not in known
        and selection.includes(total.business_date, total.store_id)
        and not closes.of(total.business_date, total.store_id)
    ]
    if later:
        yield f"control totals not compared yet: {len(later):,}; run `ordermart build`"
    rows = [
        row for row in untied_totals(released.con, selection) if not closes.of(row["business_date"], row["store_id"])
    ]
    for status, head in (("variance", "control totals that differ"), ("unknown", "control totals not comparable")):
        shown = [describe_total(row) for row in rows if row["tie_out_status"] == status]
        if shown:
            yield f"{head}: {_listed(shown, '; ')}"


def _absent_totals(released: Released) -> Iterator[str]:
    absent = released.con.execute(
        "select distinct business_date, store_id from orders_to_close as orders "
        "anti join audit.control_totals as totals using (business_date, store_id) "
        "where store_id is not null order by all"
    ).fetchall()
    if absent:
        yield f"control totals absent: {_store_days(absent)}; `ordermart totals import`, then `ordermart build`"


def _store_days(found: Sequence[StoreDay]) -> str:
    return _listed([f"{day} store {store}" for day, store in found])


def _listed(texts: Sequence[str], between: str = ", ") -> str:
    more = f"{between}…" if len(texts) > _SHOWN else ""
    return f"{len(texts):,} ({between.join(texts[:_SHOWN])}{more})"
