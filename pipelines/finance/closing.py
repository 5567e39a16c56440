"""Close business days of the current release in the ledger.

Knows nothing of restatements: see restating.py and reopening.py.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.finance.blockers import find_blockers
from pipelines.finance.released import FinanceError, Released, check_release_settings, circumstances, query, released
from pipelines.ledger import Closes, ledger_of
from pipelines.ledger.closing import CLOSED, CLOSED_ORDERS

if TYPE_CHECKING:
    from pipelines.finance.periods import Period
    from pipelines.ledger import Entry
    from pipelines.settings import Settings


@dataclass(frozen=True)
class Closed:
    """The result of a close: its ledger entry, or None if `blockers` prevented it."""

    entry: Entry | None
    blockers: list[str]
    order_count: int = 0
    totals: tuple[tuple[str, int, str, Any], ...] = ()  # sale class, order count, currency, total_price
    already_closed: tuple[dt.date, ...] = ()


def check(settings: Settings, period: Period, store_id: int | None, now: dt.datetime | None = None) -> list[str]:
    """Return the blockers for closing these days, one sentence each."""
    with released(settings) as release:
        check_release_settings(settings, release.manifest)
        return find_blockers(settings, release, period, store_id, now or dt.datetime.now(dt.UTC))


def close(
    settings: Settings,
    period: Period,
    store_id: int | None = None,
    *,
    exceptions: str = "",
    now: dt.datetime | None = None,
) -> Closed:
    """Close what is not closed yet of these days, of all stores or of one, as one ledger entry.

    Write nothing if there are blockers and `exceptions` gives no reason to accept them. Raise FinanceError if all of it
    is closed already, or if the release was built with other settings.
    """
    ledger = ledger_of(settings.data_dir)
    closes = Closes(ledger.entries())
    unclosed = {day: closes.unclosed_stores(day, store_id) for day in period.days}
    days = [{"day": day.isoformat(), "stores": stores} for day, stores in unclosed.items() if stores != []]
    if not days:
        raise FinanceError(f"{_name(period, store_id)} is already closed; reopen a day with `ordermart close reopen`")
    with released(settings) as release:
        check_release_settings(settings, release.manifest)
        _check_store_exists(release, store_id)
        blockers = find_blockers(settings, release, period, store_id, now or dt.datetime.now(dt.UTC))
        if blockers and not exceptions:
            return Closed(None, blockers)
        rows = _orders(release, closes, unclosed)
        body = {
            "days": days,
            "period": period.name,
            "store_id": store_id,
            "order_count": rows.num_rows,
            "exceptions": {"reason": exceptions, "blockers": blockers} if blockers else None,
            **circumstances(settings, release.con, release.manifest, release.manifest.code),
        }
    entry = ledger.append(CLOSED, body, rows)
    already_closed = tuple(day for day, stores in unclosed.items() if stores == [])
    return Closed(entry, blockers, rows.num_rows, _totals(rows), already_closed)


def _orders(release: Released, closes: Closes, unclosed: dict[dt.date, list[int] | None]) -> pa.Table:
    """Return the orders of the unclosed days and stores, in the shape of CLOSED_ORDERS."""
    # one row per day with store null for all of its stores; is_excluded: closed separately
    whole = [day for day, stores in unclosed.items() if stores is None]
    scope: list[tuple[dt.date, int | None, bool]] = [(day, None, False) for day in whole]
    scope += [(day, store, True) for day in whole for store in closes.separately_closed_stores(day)]
    scope += [(day, store, False) for day, stores in unclosed.items() for store in stores or ()]
    release.con.register(
        "close_scope",
        pa.table(
            {
                "business_date": pa.array([day for day, _, _ in scope], pa.date32()),
                "store_id": pa.array([store for _, store, _ in scope], pa.int64()),
                "is_excluded": pa.array([is_excluded for _, _, is_excluded in scope], pa.bool_()),
            }
        ),
    )
    return release.con.execute(query("orders_to_close")).to_arrow_table().cast(CLOSED_ORDERS)


def _check_store_exists(release: Released, store_id: int | None) -> None:
    if store_id is None:
        return
    found = release.con.execute(
        "select 1 where ? in (select store_id from core.stores union all select store_id from mart.orders)", [store_id]
    ).fetchone()
    if not found:
        raise FinanceError(f"--store: the release has no store {store_id}")


def _totals(rows: pa.Table) -> tuple[tuple[str, int, str, Any], ...]:
    grouped = rows.group_by(["sale_class", "currency"]).aggregate([("order_id", "count"), ("total_price", "sum")])
    return tuple(
        sorted(
            (row["sale_class"], row["order_id_count"], row["currency"] or "", row["total_price_sum"])
            for row in grouped.to_pylist()
        )
    )


def _name(period: Period, store_id: int | None) -> str:
    days = f"{period.first_day}" if period.first_day == period.last_day else f"{period.first_day} to {period.last_day}"
    return days if store_id is None else f"{days} of store {store_id}"
