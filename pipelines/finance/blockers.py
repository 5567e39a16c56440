"""What stands in the way of sealing a day: each thing one sentence, found in the release and in the work list.

Knows nothing of what becomes of it: closing refuses, or seals it with the day.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.inbox.receiver import inbox_path
from pipelines.inbox.worklist import GAP_PROBE, WorkList

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipelines.finance.periods import Period
    from pipelines.finance.released import Released
    from pipelines.settings import Settings

_SHOWN = 5  # ids in a sentence


def obstacles(
    settings: Settings, released: Released, period: Period, store_id: int | None, now: dt.datetime
) -> list[str]:
    """Return what stands in the way of sealing these days, of all stores or of one; nothing: []."""
    con = released.con
    ends = _ends(settings, released, period, store_id)
    con.register("day_ends", ends)
    con.execute(
        f"""
        create or replace temp view to_be_sealed as
        select orders.*, day_ends.close_at
        from mart.orders as orders
        left join day_ends
            on orders.business_date = day_ends.business_date and orders.timezone = day_ends.timezone
        where orders.business_date between date '{period.first_day}' and date '{period.last_day}'
            and {"true" if store_id is None else f"orders.store_id = {store_id}"}
        """
    )
    found = [
        *_day_not_over(ends, now, f"{settings.closing.close_after_hours:g}"),
        *_checked_too_early(released),
        *_work(settings, released, period, now),
        *_refused(released, period),
        *_unmapped(released),
        *_undecided(released),
    ]
    con.execute("drop view to_be_sealed")
    con.unregister("day_ends")
    return found


def _ends(settings: Settings, released: Released, period: Period, store_id: int | None) -> pa.Table:
    """Return when each day may be sealed, for every timezone in use: its end by that clock plus the hours to wait."""
    only = "" if store_id is None else f"where store_id = {store_id}"
    rows = released.con.execute(
        f"select distinct timezone from (select timezone from mart.orders {only} "
        f"union all select timezone from core.stores {only})"
    )
    used = {row[0] for row in rows.fetchall()} & zoneinfo.available_timezones()
    zones = used or {settings.business_day.timezone}
    hour, minute = map(int, settings.business_day.day_start.split(":"))
    wait = dt.timedelta(hours=settings.closing.close_after_hours)
    ends = [
        (day, zone, _moment(day + dt.timedelta(days=1), hour, minute, zone) + wait)
        for zone in sorted(zones)
        for day in period.days
    ]
    return pa.table(
        {
            "business_date": pa.array([each[0] for each in ends], pa.date32()),
            "timezone": pa.array([each[1] for each in ends], pa.string()),
            "close_at": pa.array([each[2] for each in ends], pa.timestamp("us", tz="UTC")),
        }
    )


def _moment(day: dt.date, hour: int, minute: int, zone: str) -> dt.datetime:
    local = dt.datetime(day.year, day.month, day.day, hour, minute, tzinfo=zoneinfo.ZoneInfo(zone))
    return local.astimezone(dt.UTC)


def _day_not_over(ends: pa.Table, now: dt.datetime, hours: str) -> Iterator[str]:
    last: dict[str, Any] = max(ends.to_pylist(), key=lambda each: each["close_at"])
    if last["close_at"] > now:
        yield (
            f"day not over: {last['business_date']} in {last['timezone']} may be sealed from "
            f"{last['close_at']:%Y-%m-%d %H:%M} UTC ([closing] close_after_hours = {hours})"
        )


def _checked_too_early(released: Released) -> Iterator[str]:
    ids = _ids(
        released,
        "select order_id from to_be_sealed where close_at is null or last_checked_at is null "
        "or last_checked_at < close_at order by order_id",
    )
    if ids:
        yield f"orders last checked before their day could be sealed: {_listed(ids)}; ask for them again"


def _work(settings: Settings, released: Released, period: Period, now: dt.datetime) -> Iterator[str]:
    path = inbox_path(settings.data_dir)
    if not path.exists():
        return
    with WorkList(path) as work:
        letters = [letter.id for letter in work.dead_letters("orders")]
        due = work.due_counts(now).get("orders", 0)
        first = work.due("orders", now, _SHOWN)
        given_up = [
            each
            for each in work.ids_in("orders", "given_up", since=_earliest(period))
            if (entry := work.entry("orders", each)) and entry.why != {GAP_PROBE}
        ]
    if letters:
        yield f"failed, as dead letters: {_listed(letters)}; `ordermart retry`, then `ordermart run`"
    if due:
        yield f"due and not fetched yet: {_listed(first, due)}; `ordermart run`"
    missing = _ids(
        released,
        "select id from (select unnest(?::bigint[]) as id) as given where "
        "id not in (select order_id from mart.orders) "
        "or id in (select order_id from to_be_sealed where not is_deleted) order by id",
        given_up,
    )
    if missing:
        yield f"missing, asked for and not found: {_listed(missing)}"


def _earliest(period: Period) -> dt.datetime:
    """Return when the first day began anywhere: what was refused or missed before is no order of these days."""
    return dt.datetime.combine(period.first_day, dt.time(), dt.UTC) - dt.timedelta(hours=14)


def _refused(released: Released, period: Period) -> Iterator[str]:
    # What no table holds may be of any day that had begun when it was last refused.
    ids = _ids(
        released,
        """
        select entity_id from audit.quarantine
        where kind = 'orders' and is_unresolved and (
            entity_id in (select order_id from to_be_sealed)
            or (
                (entity_id is null or entity_id not in (select order_id from mart.orders))
                and (last_seen_at is null or last_seen_at >= ?)
            )
        )
        order by entity_id
        """,
        _earliest(period),
    )
    if ids:
        yield f"quarantined or failed, of these days or of unknown ones: {_listed(ids)}; see audit.quarantine"


def _unmapped(released: Released) -> Iterator[str]:
    rows = released.con.execute(
        "select currency, count(*), sum(total_price) from to_be_sealed where sale_class = 'unmapped' "
        "group by currency order by currency"
    ).fetchall()
    for currency, number, money in rows:
        amount = f"{money or 0:,.4f} {currency or 'of no stated currency'}".replace("00 ", " ", 1)
        yield f"unmapped, their status in neither list of [sales]: orders {number:,}, total_price {amount}"


def _undecided(released: Released) -> Iterator[str]:
    for target in ("subtotal", "total"):
        row = released.con.execute(
            f"select count(*), count({target}_basis) from to_be_sealed inner join audit.order_rules using (order_id)"
        ).fetchone()
        if row and row[0] and not row[1]:
            yield (
                f"rule undecided: no order of these days has a {target} rule; "
                "see audit.formula_populations or set [[formula.rule]]"
            )
    refuted = released.con.execute(
        "select scope, sentence from audit.formula_populations "
        "where rule_setting_no is not null and verdict = 'none' order by all"
    ).fetchall()
    for scope, sentence in refuted:
        yield f"configured rule refuted: {scope}: {sentence}"


def _ids(released: Released, select: str, *values: Any) -> list[int | None]:
    return [row[0] for row in released.con.execute(select, list(values)).fetchall()]


def _listed(ids: Sequence[int | None], number: int | None = None) -> str:
    total = len(ids) if number is None else number
    shown = ", ".join("without an id" if each is None else str(each) for each in ids[:_SHOWN])
    return f"{total:,} ({shown}{', …' if total > _SHOWN else ''})"
