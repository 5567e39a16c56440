"""Close business days of the current release in the ledger: by one user, or prepared by one and approved by another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.clock import utc_now
from pipelines.finance.blockers import find_blockers, indeterminate_amounts
from pipelines.finance.closed_orders import Totals, fingerprint, orders_to_close, period_totals, totals
from pipelines.finance.periods import is_closed, period_holding
from pipelines.finance.released import (
    FinanceError,
    Released,
    check_release_settings,
    circumstances,
    released,
    stores_by_day,
)
from pipelines.ledger import Closes, ledger_of
from pipelines.ledger.closed_days import CLOSED, PREPARED, REOPENED, day_hashes
from pipelines.ledger.decisions import User, current_user

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    import pyarrow as pa

    from pipelines.finance.periods import Period
    from pipelines.ledger import Entry
    from pipelines.settings import Settings

_ANOTHER = "another"


@dataclass(frozen=True)
class Closed:
    """The result of a close: its ledger entry, or None if `blockers` prevented it; `is_prepared`: to be approved yet.

    `period_totals` are those of all closed days of its period, empty if it closed all of them itself.
    """

    entry: Entry | None
    blockers: list[str]
    order_count: int = 0
    totals: Totals = ()
    already_closed: tuple[dt.date, ...] = ()
    period_totals: Totals = ()
    is_prepared: bool = False


@dataclass(frozen=True)
class _Draft:
    """What a close would write: its body and rows, the blockers it has, and the days that it leaves as they are."""

    body: dict[str, Any]
    rows: pa.Table
    blockers: list[str]
    already_closed: tuple[dt.date, ...]
    fingerprint: str


def check(settings: Settings, period: Period, store_id: int | None, now: dt.datetime | None = None) -> list[str]:
    """Return the blockers for closing these days, one sentence each; raise FinanceError for an unknown store."""
    with released(settings) as release:
        check_release_settings(settings, release.manifest)
        _check_store_exists(release, store_id)
        return find_blockers(settings, release, period, store_id, now or utc_now())


def is_period_closed(settings: Settings, period: Period, store_id: int | None) -> bool:
    """Return whether these days are closed, of one store or of all: at once or store by store.

    Raise FinanceError for an unknown store.
    """
    closes = Closes(ledger_of(settings.data_dir).entries())
    if store_id is not None:
        with released(settings) as release:
            _check_store_exists(release, store_id)
        return all(closes.of(day, store_id) for day in period.days)
    return is_closed(closes, period, stores_by_day(settings))


def close(
    settings: Settings,
    period: Period,
    store_id: int | None = None,
    *,
    exceptions: str = "",
    now: dt.datetime | None = None,
    user: User | None = None,
) -> Closed:
    """Close the open ones of these days, of all stores or of one, as one ledger entry.

    If `[closing] approver` asks for another user, only prepare that. Write nothing if there are blockers and
    `exceptions` gives no reason to accept them. Raise FinanceError if all of it is closed already, or if the release
    was built with other settings.
    """
    user = user or current_user()
    with released(settings) as release:
        draft = _draft(settings, release, period, store_id, now)
        if draft.blockers and not exceptions:
            return Closed(None, draft.blockers)
        excepted = {"reason": exceptions, "blockers": draft.blockers} if draft.blockers else None
        body = {**draft.body, "exceptions": excepted, **user.body}
        if settings.closing.approver == _ANOTHER:
            entry = release.ledger.append(PREPARED, {**body, "fingerprint": draft.fingerprint})
            return Closed(
                entry, draft.blockers, draft.rows.num_rows, totals(draft.rows), draft.already_closed, is_prepared=True
            )
        return _write(release, period, store_id, draft, body)


def approve(
    settings: Settings,
    period: Period,
    store_id: int | None = None,
    *,
    now: dt.datetime | None = None,
    user: User | None = None,
) -> Closed:
    """Close what another user prepared.

    Write nothing if there are blockers that were not accepted with it. Raise FinanceError if nothing is prepared, if
    the same system user prepared it, or if its orders have changed since.
    """
    user = user or current_user()
    with released(settings) as release:
        draft = _draft(settings, release, period, store_id, now)
        prepared = _prepared(release.ledger.entries(), draft.body)
        if prepared is None:
            raise FinanceError(
                f"{_name(period, store_id)} is not prepared: run `ordermart close` as another user first"
            )
        if prepared.body["uid"] == user.uid:
            raise FinanceError(
                f"{_name(period, store_id)} was prepared by this system user, {prepared.who} (entry {prepared.no}): "
                "another one must approve it; --as does not count"
            )
        excepted = prepared.body["exceptions"]
        accepted = excepted["blockers"] if excepted else []
        if remaining := [blocker for blocker in draft.blockers if blocker not in accepted]:
            return Closed(None, remaining, is_prepared=True)
        if draft.fingerprint != prepared.body["fingerprint"]:
            raise FinanceError(
                f"the orders of {_name(period, store_id)} have changed since they were prepared (entry {prepared.no}): "
                "prepare it again"
            )
        body = {**draft.body, "exceptions": excepted, "prepared_entry_no": prepared.no, **user.body}
        return _write(release, period, store_id, draft, body)


def _draft(
    settings: Settings, release: Released, period: Period, store_id: int | None, now: dt.datetime | None
) -> _Draft:
    _check_store_exists(release, store_id)
    closes = Closes(ledger_of(settings.data_dir).entries())
    unclosed = {day: closes.unclosed_stores(day, store_id) for day in period.days}
    days = [
        {"day": day.isoformat(), "stores": stores, "period": period_holding(settings, day).name}
        for day, stores in unclosed.items()
        if stores != []
    ]
    if not days:
        raise FinanceError(f"{_name(period, store_id)} is already closed; reopen a day with `ordermart close reopen`")
    check_release_settings(settings, release.manifest)
    blockers = find_blockers(settings, release, period, store_id, now or utc_now())
    rows = orders_to_close(release, closes, unclosed)
    body = {
        "days": days,
        "period": period.name,
        "store_id": store_id,
        "order_count": rows.num_rows,
        "indeterminate": indeterminate_amounts(release),
        "day_hashes": day_hashes(rows),
        **circumstances(settings, release.con, release.manifest, release.manifest.code),
    }
    already_closed = tuple(day for day, stores in unclosed.items() if stores == [])
    return _Draft(body, rows, blockers, already_closed, fingerprint(release.con, rows))


def _write(release: Released, period: Period, store_id: int | None, draft: _Draft, body: dict[str, Any]) -> Closed:
    entry = release.ledger.append(CLOSED, body, draft.rows)
    whole, own = period_totals(release, period, store_id), totals(draft.rows)
    return Closed(entry, draft.blockers, draft.rows.num_rows, own, draft.already_closed, () if whole == own else whole)


def _prepared(entries: Iterable[Entry], body: dict[str, Any]) -> Entry | None:
    """Return the last entry that prepared the same days and stores, if none of these was closed or reopened since."""
    days = {each["day"] for each in body["days"]}
    found = None
    for entry in entries:
        if entry.act == PREPARED and all(entry.body[key] == body[key] for key in ("days", "period", "store_id")):
            found = entry
        elif (entry.act == CLOSED and days & {each["day"] for each in entry.body["days"]}) or (
            entry.act == REOPENED and entry.body["day"] in days
        ):
            found = None
    return found


def _check_store_exists(release: Released, store_id: int | None) -> None:
    if store_id is None:
        return
    found = release.con.execute(
        "select 1 where ? in (select store_id from core.stores union all select store_id from mart.orders)", [store_id]
    ).fetchone()
    if not found:
        raise FinanceError(f"--store: the release has no store {store_id}")


def _name(period: Period, store_id: int | None) -> str:
    days = f"{period.first_day}" if period.first_day == period.last_day else f"{period.first_day} to {period.last_day}"
    return days if store_id is None else f"{days} of store {store_id}"
