"""Seal business days of the current release into the ledger, and open them again.

Knows nothing of what changes afterwards: see restating.py.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.finance.blockers import obstacles
from pipelines.finance.periods import Period
from pipelines.finance.released import FinanceError, Released, check_release_settings, circumstances, released
from pipelines.ledger import Seals, ledger_of
from pipelines.ledger.closing import CLOSED, REOPENED, SEALED

if TYPE_CHECKING:
    from pipelines.ledger import Entry
    from pipelines.settings import Settings

_FROM = {
    "payload_sha256": "known._payload_sha256",
    "fetched_at": "orders._fetched_at",
    "line_amount": "sums.line_amount",
    **{
        name: f"rules.{name}"
        for name in ("line_rule", "line_open_parts", "subtotal_basis", "total_rule", "total_basis")
    },
}


@dataclass(frozen=True)
class Closed:
    """What a closing did: the act, or None where `obstacles` kept it from being done."""

    entry: Entry | None
    obstacles: list[str]
    orders: int = 0
    totals: tuple[tuple[str, int, str, Any], ...] = ()  # sale class, orders, currency, total_price
    sealed_before: tuple[dt.date, ...] = ()


def check(settings: Settings, period: Period, store_id: int | None, now: dt.datetime | None = None) -> list[str]:
    """Return what stands in the way of sealing these days, a sentence each; [] where nothing does."""
    with released(settings) as release:
        check_release_settings(settings, release.manifest)
        return obstacles(settings, release, period, store_id, now or dt.datetime.now(dt.UTC))


def close(
    settings: Settings,
    period: Period,
    store_id: int | None = None,
    *,
    exceptions: str = "",
    now: dt.datetime | None = None,
) -> Closed:
    """Seal what is still open of these days, of all stores or of one, as one act.

    Refused, with nothing written, where something stands in the way and `exceptions` gives no reason to do it all the
    same. Raise FinanceError where all of it is sealed already, or where the release is not by the settings in force.
    """
    ledger = ledger_of(settings.data_dir)
    seals = Seals(ledger.entries())
    left = {day: seals.unclosed_stores(day, store_id) for day in period.days}
    days = [{"day": day.isoformat(), "stores": stores} for day, stores in left.items() if stores != []]
    if not days:
        raise FinanceError(f"{_spoken(period, store_id)} is sealed already; `ordermart close reopen` opens a day again")
    with released(settings) as release:
        check_release_settings(settings, release.manifest)
        _store_must_exist(release, store_id)
        in_the_way = obstacles(settings, release, period, store_id, now or dt.datetime.now(dt.UTC))
        if in_the_way and not exceptions:
            return Closed(None, in_the_way)
        rows = _orders(release, seals, left)
        body = {
            "days": days,
            "period": period.name,
            "store_id": store_id,
            "orders": rows.num_rows,
            "exceptions": {"reason": exceptions, "obstacles": in_the_way} if in_the_way else None,
            **circumstances(settings, release.con, release.manifest.id, release.manifest.code),
        }
    entry = ledger.append(CLOSED, body, rows)
    before = tuple(day for day, stores in left.items() if stores == [])
    return Closed(entry, in_the_way, rows.num_rows, _totals(rows), before)


def reopen(settings: Settings, day: dt.date, store_id: int | None, reason: str) -> Entry:
    """Take back the seal of a day, of all stores or of one; raise FinanceError where there is none in force."""
    ledger = ledger_of(settings.data_dir)
    if not Seals(ledger.entries()).is_any(day, store_id):
        raise FinanceError(f"{_spoken(Period(day, day), store_id)} is not sealed: nothing to reopen")
    return ledger.append(REOPENED, {"day": day.isoformat(), "store_id": store_id, "reason": reason})


def _orders(release: Released, seals: Seals, left: dict[dt.date, list[int] | None]) -> pa.Table:
    """Return the orders of the days and stores that are to be sealed, in the shape of SEALED."""
    whole = [day for day, stores in left.items() if stores is None]
    named = [(day, store) for day, stores in left.items() for store in stores or ()]
    alone = [(day, store) for day in whole for store in seals.separately_closed_stores(day)]
    con = release.con
    con.register("whole_days", pa.table({"day": pa.array(whole, pa.date32())}))
    for name, pairs in (("named_days", named), ("alone_days", alone)):
        con.register(
            name,
            pa.table(
                {
                    "day": pa.array([day for day, _ in pairs], pa.date32()),
                    "store_id": pa.array([store for _, store in pairs], pa.int64()),
                }
            ),
        )
    columns = ", ".join(f"{_FROM.get(name, f'orders.{name}')} as {name}" for name in SEALED.names)
    rows = con.sql(
        f"""
        with to_seal as (
            from mart.orders as orders
            where business_date between date '{min(left)}' and date '{max(left)}'
                and (
                    (
                        business_date in (select day from whole_days)
                        and not exists (
                            select 1 from alone_days as alone
                            where alone.day = orders.business_date and alone.store_id = orders.store_id
                        )
                    )
                    or exists (
                        select 1 from named_days as named
                        where named.day = orders.business_date and named.store_id = orders.store_id
                    )
                )
        )
        select {columns}
        from to_seal as orders
        inner join core.orders as known on orders.order_id = known.order_id
        inner join mart.order_reconciliation as sums on orders.order_id = sums.order_id
        inner join audit.order_rules as rules on orders.order_id = rules.order_id
        order by orders.business_date, orders.order_id
        """
    ).to_arrow_table()
    return rows.cast(SEALED)


def _store_must_exist(release: Released, store_id: int | None) -> None:
    if store_id is None:
        return
    found = release.con.execute(
        "select 1 where ? in (select store_id from core.stores union all select store_id from mart.orders)", [store_id]
    ).fetchone()
    if not found:
        raise FinanceError(f"the release knows no store {store_id}")


def _totals(rows: pa.Table) -> tuple[tuple[str, int, str, Any], ...]:
    grouped = rows.group_by(["sale_class", "currency"]).aggregate([("order_id", "count"), ("total_price", "sum")])
    return tuple(
        sorted(
            (each["sale_class"], each["order_id_count"], each["currency"] or "", each["total_price_sum"])
            for each in grouped.to_pylist()
        )
    )


def _spoken(period: Period, store_id: int | None) -> str:
    days = f"{period.first_day}" if period.first_day == period.last_day else f"{period.first_day} to {period.last_day}"
    return days if store_id is None else f"{days} of store {store_id}"
