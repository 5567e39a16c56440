"""Close business days of the current release in the ledger, by one user, or prepared by one and approved by another.

A day that is closed again is closed with its current amounts: they contain what was posted before. So what was posted
of its restatements is reversed by the entry that reopens the day, and the books of all periods still add up.

Changes to closed days are restatements, posted to a period. A build finds what differs from the booked amounts; it is
appended to the ledger before a release shows it. What a release has shown never changes, and a full rebuild from raw
and ledger gives the same rows. After a kill in between, the next build finds the same changes again.
"""

import dataclasses
import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.clock import utc_now
from pipelines.finance.blockers import find_blockers, indeterminate_amounts, reason_by_kind
from pipelines.finance.released import (
    BookPeriod,
    FinanceError,
    Released,
    arrow_table,
    check_release_settings,
    circumstances,
    earliest_open,
    finance_sql,
    is_closed,
    open_release,
    period_holding,
    period_of,
    stores_by_day,
)
from pipelines.landing.customers import settle_customers
from pipelines.ledger import Closes, LedgerEntry, entries, ledger_of
from pipelines.ledger.chain import select_rows
from pipelines.ledger.signed_head import check_heads, signing_ledger
from pipelines.literals import literal
from pipelines.record import Verdict
from pipelines.settings import Settings
from pipelines.warehouse.building.build import build, warehouse_file
from pipelines.warehouse.inputs.relations import table_of
from pipelines.warehouse.inputs.sources import create_sources, day_closes
from pipelines.warehouse.release.manifest import code_version
from pipelines.warehouse.rows.fresh_rows import BuildResult
from pipelines.warehouse.storage import memory_limit

_INSTANT = pa.timestamp("us", tz="UTC")
_SHOWN = 5  # orders in a message
_SOURCES = ("raw.day_closes", "raw.closed_orders", "raw.restated")
_DAY = ("time_field", "timezone", "day_start")  # of [business_day], which decide an order's day; dayparts do not
_LOOSE = ("is_assumable", "open_parts")  # null in a hash of rules


@dataclass(frozen=True)
class Posting:
    """A posting to a period: how many restatements, and the sum of total_price by currency."""

    period: str
    restatement_count: int
    amounts: tuple[tuple[str, Any], ...]


def build_and_record(
    settings: Settings, *, full: bool = False, progress: Callable[[str, int, int], None] | None = None
) -> BuildResult:
    """Settle whose orders are, build the warehouse, record pending restatements, and build again with them.

    Raise the errors of the build. Recorded restatements stays recorded if the second build fails.
    """
    settle_customers(settings)
    result = build(settings, full=full, progress=progress)
    count = record_restatements(settings) if result.rows["audit.pending_restatements"] else 0
    if not count:
        return result
    again = build(settings, progress=progress)
    why = f"{result.why}; {count} restatements of closed days were recorded"
    tables, checks = result.changed_tables | again.changed_tables, result.changed_checks | again.changed_checks
    full = result.full or again.full
    return dataclasses.replace(again, changed=True, full=full, why=why, changed_tables=tables, changed_checks=checks)


def record_restatements(settings: Settings) -> int:
    """Append the restatements that the last build found to the ledger, as one entry, and return how many."""
    with _warehouse(settings) as con:
        found = con.execute("select count(*) from audit.pending_restatements").fetchone()
        if not found or not found[0]:
            return 0
        ledger = signing_ledger(settings)
        body = circumstances(settings, con, None, code_version())
        create_entries(con, settings.data_dir, body)
        last = con.execute("select max(restatement_no) from memory.raw.restated").fetchone()
        values = {"last_restatement_no": (last and last[0]) or 0, "detected_at": utc_now()}
        _check_orders_exist(con)
        for step in ("last_booked", "restated_orders"):
            con.execute(f"create temp table {step} as {finance_sql(step)}")
        con.execute(f"create temp view order_total_parts as {finance_sql('total_parts')}")
        rows = con.execute(finance_sql("restatement_causes"), values).to_arrow_table().cast(entries.RESTATEMENTS)
        if rows.num_rows != found[0]:
            advice = "nothing was recorded; report this"
            raise FinanceError(f"{found[0]} pending restatements, but {rows.num_rows} causes: {advice}")
        ledger.append(entries.RESTATED, body, rows)
        return int(rows.num_rows)


def _check_orders_exist(con: duckdb.DuckDBPyConnection) -> None:
    """Raise FinanceError if a closed order is in no table: losing data is not a cause for a restatement."""
    select = "select distinct order_id, business_date from audit.pending_restatements"
    lost = con.execute(f"{select} anti join mart.orders using (order_id) order by all").fetchall()
    if lost:
        shown = ", ".join(f"{order_id} of {day}" for order_id, day in lost[:_SHOWN])
        raise FinanceError(
            f"{len(lost)} orders of closed days are missing from data/raw, such as {shown}: restore data/raw from a "
            "copy, or fetch them again; nothing was published. To publish without them, reopen their days: "
            '`ordermart close reopen DAY --reason "…"`'
        )


def create_entries(con: duckdb.DuckDBPyConnection, data_dir: Path, present: dict[str, Any]) -> None:
    """Create memory.entries, the circumstances of every close and restatement, and memory.present, the current ones."""
    current = _hashes(present)
    texts = dict.fromkeys(current, pa.string())
    kept = [entry for entry in ledger_of(data_dir).entries() if "rules" in entry.body]
    rows = ((each.no, each.moment, _known_to(each), *_hashes(each.body).values()) for each in kept)
    kinds = {"entry_no": pa.int64(), "written_at": _INSTANT, "known_to": _INSTANT, **texts}
    con.from_arrow(arrow_table(rows, **kinds)).create("memory.entries")
    con.from_arrow(arrow_table([tuple(current.values())], **texts)).create("memory.present")


def ledger_restatements(settings: Settings, *, everything: bool = False) -> list[dict[str, Any]]:
    """Return the ledger's restatements by number: the unposted ones under active closes, or all."""
    with sources(settings) as con:
        rows = con.sql("from memory.raw.restated order by restatement_no").to_arrow_table().to_pylist()
    check_heads(settings, ledger := ledger_of(settings.data_dir))
    closes = Closes(ledger.entries())
    for row in rows:
        row["is_close_active"] = closes.of(row["business_date"], row["store_id"]) == row["close_entry_no"]
    return [row for row in rows if everything or (row["posted_period"] is None and row["is_close_active"])]


def post(settings: Settings, period: str, user: entries.User | None = None) -> Posting:
    """Post all unposted restatements; raise SettingsError if there is no such period, FinanceError if it is closed."""
    ledger = signing_ledger(settings)
    found = period_of(settings, period)
    closes, stores = Closes(ledger.entries()), stores_by_day(settings)
    if is_closed(closes, found, stores):
        following = earliest_open(settings, closes, found.last_day, stores)
        name = f", such as {following.name}" if following else ": add one to [closing] periods_file"
        raise FinanceError(f"--period: {period} is closed: post to an open period{name}")
    if rows := ledger_restatements(settings):
        numbers = pa.table({"restatement_no": [row["restatement_no"] for row in rows]}, schema=entries.POSTINGS)
        body = {"period": found.name, "restatement_count": len(rows), **(user or entries.current_user()).body}
        ledger.append(entries.POSTED, body, numbers)
    return Posting(found.name or period, len(rows), total_prices(rows))


def total_prices(rows: Sequence[dict[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Return the sum of the restated total_price by currency, '' where none is known."""
    amounts: dict[str, Any] = {}
    for row in rows:
        if row["measure"] == "total_price":
            amounts[row["currency"] or ""] = amounts.get(row["currency"] or "", 0) + row["restatement_amount"]
    return tuple(sorted(amounts.items()))


def _hashes(body: dict[str, Any]) -> dict[str, str]:
    """Return a hash of each circumstance that can cause a restatement."""
    return {
        "business_day_hash": _hash([body["settings"]["business_day"][key] for key in _DAY]),
        "sales_hash": _hash(body["settings"]["sales"]),
        # without what can change while a rule stays the same
        "rules_hash": _hash([{**rule, "conditions": None} | dict.fromkeys(_LOOSE) for rule in body["rules"]]),
    }


def _known_to(entry: LedgerEntry) -> dt.datetime:
    """Return the latest time at which a load could be seen: of a close, when its release was published."""
    as_of = entry.body.get("release_as_of")
    return dt.datetime.fromisoformat(as_of) if as_of else entry.moment


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@contextmanager
def sources(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with the ledger's closes and restatements in `memory.raw`."""
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'")
        con.execute("create schema raw")
        create_sources(con, settings, *_SOURCES)
        yield con


@contextmanager
def _warehouse(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield the warehouse, read-only and the default database, beside the sources in `memory.raw`."""
    with sources(settings) as con:
        con.execute("set memory_limit = ?", [memory_limit(settings)])
        con.execute(f"attach {literal(warehouse_file(settings.data_dir))} as warehouse (read_only)")
        con.execute("use warehouse")
        yield con


_ANOTHER = "another"
Totals = tuple[tuple[str, int, str, Any], ...]  # sale class, order count, currency, total_price
_UNSTABLE = ["fetched_at", "last_checked_at"]  # differ once an order was fetched again, unchanged


@dataclass(frozen=True)
class Closed:
    """The result of a close: its ledger entry, or None if `blockers` prevented it; `is_prepared`: to be approved yet.

    `period_totals` are those of all closed days of its period, empty if it closed all of them itself; `lacking`: the
    kinds of blockers that no reason was given for.
    """

    entry: LedgerEntry | None
    blockers: list[str]
    order_count: int = 0
    totals: Totals = ()
    already_closed: tuple[dt.date, ...] = ()
    period_totals: Totals = ()
    is_prepared: bool = False
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Draft:
    """What a close would write: its body and rows, the blockers it has, and the days that it leaves as they are."""

    body: dict[str, Any]
    rows: pa.Table
    blockers: list[str]
    already_closed: tuple[dt.date, ...]
    fingerprint: str


def check(settings: Settings, period: BookPeriod, store_id: int | None, now: dt.datetime | None = None) -> Verdict:
    """Decide whether these days can be closed, with what stands against it; raise FinanceError for an unknown store.

    Raise LedgerError if the ledger is not the one whose head is kept: closes may be missing.
    """
    check_heads(settings, ledger_of(settings.data_dir))
    with open_release(settings) as release:
        check_release_settings(settings, release.manifest)
        _check_store_exists(release, store_id)
        return find_blockers(settings, release, period, store_id, now or utc_now())


def is_period_closed(settings: Settings, period: BookPeriod, store_id: int | None) -> bool:
    """Return whether these days are closed, of one store or all; raise FinanceError for an unknown store."""
    closes = Closes(ledger_of(settings.data_dir).entries())
    if store_id is not None:
        with open_release(settings) as release:
            _check_store_exists(release, store_id)
        return all(closes.of(day, store_id) for day in period.days)
    return is_closed(closes, period, stores_by_day(settings))


def close(
    settings: Settings,
    period: BookPeriod,
    store_id: int | None = None,
    *,
    exceptions: str | Mapping[str, str] = "",
    now: dt.datetime | None = None,
    user: entries.User | None = None,
) -> Closed:
    """Close the open ones of these days, of all stores or of one, as one ledger entry.

    If `[closing] approver` asks for another user, only prepare that. Write nothing if there are blockers and
    `exceptions` gives no reason to accept them: one for all of them, or one for each kind.
    Raise FinanceError if all of it is closed already, or if the release was built with other settings.
    """
    user = user or entries.current_user()
    with open_release(settings) as release:
        draft = _draft(settings, release, period, store_id, now)
        reason, lacking = (
            (exceptions, list[str]()) if isinstance(exceptions, str) else reason_by_kind(draft.blockers, exceptions)
        )
        if draft.blockers and (lacking or not reason):
            return Closed(None, draft.blockers, lacking=tuple(lacking))
        excepted = {"reason": reason, "blockers": draft.blockers} if draft.blockers else None
        body = {**draft.body, "exceptions": excepted, **user.body}
        if settings.closing.approver == _ANOTHER:
            entry = release.ledger.append(entries.PREPARED, {**body, "fingerprint": draft.fingerprint})
            sums, known = totals(draft.rows), draft.already_closed
            return Closed(entry, draft.blockers, draft.rows.num_rows, sums, known, is_prepared=True)
        return _write(release, period, store_id, draft, body)


def approve(
    settings: Settings,
    period: BookPeriod,
    store_id: int | None = None,
    *,
    now: dt.datetime | None = None,
    user: entries.User | None = None,
) -> Closed:
    """Close what another user prepared.

    Write nothing if there are blockers that were not accepted with it. Raise FinanceError if nothing is prepared, if
    the same system user prepared it, or if its orders have changed since.
    """
    user = user or entries.current_user()
    with open_release(settings) as release:
        draft = _draft(settings, release, period, store_id, now)
        if (prepared := _prepared(release.ledger.entries(), draft.body)) is None:
            advice = "run `ordermart close` as another user first"
            raise FinanceError(f"{_name(period, store_id)} is not prepared: {advice}")
        if prepared.body["uid"] == user.uid:
            why = f"{_name(period, store_id)} was prepared by this system user, {prepared.who} (entry {prepared.no})"
            raise FinanceError(f"{why}: another one must approve it; --as does not count")
        excepted = prepared.body["exceptions"]
        accepted = excepted["blockers"] if excepted else []
        if remaining := [blocker for blocker in draft.blockers if blocker not in accepted]:
            return Closed(None, remaining, is_prepared=True)
        if draft.fingerprint != prepared.body["fingerprint"]:
            why = f"the orders of {_name(period, store_id)} have changed since they were prepared (entry {prepared.no})"
            raise FinanceError(f"{why}: prepare it again")
        body = {**draft.body, "exceptions": excepted, "prepared_entry_no": prepared.no, **user.body}
        return _write(release, period, store_id, draft, body)


def _draft(
    settings: Settings, release: Released, period: BookPeriod, store_id: int | None, now: dt.datetime | None
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
    blockers = find_blockers(settings, release, period, store_id, now or utc_now()).against
    rows = orders_to_close(release, closes, unclosed)
    body = {"days": days, "period": period.name, "store_id": store_id, "order_count": rows.num_rows}
    body |= {"indeterminate": indeterminate_amounts(release), "day_hashes": entries.day_hashes(rows)}
    body |= circumstances(settings, release.con, release.manifest, release.manifest.code)
    already_closed = tuple(day for day, stores in unclosed.items() if stores == [])
    return _Draft(body, rows, blockers, already_closed, fingerprint(release.con, rows))


def _write(release: Released, period: BookPeriod, store_id: int | None, draft: _Draft, body: dict[str, Any]) -> Closed:
    entry = release.ledger.append(entries.CLOSED, body, draft.rows)
    whole, own = period_totals(release, period, store_id), totals(draft.rows)
    return Closed(entry, draft.blockers, draft.rows.num_rows, own, draft.already_closed, () if whole == own else whole)


def _prepared(kept: Iterable[LedgerEntry], body: dict[str, Any]) -> LedgerEntry | None:
    """Return the last entry that prepared the same days and stores, if none of these was closed or reopened since."""
    days = {each["day"] for each in body["days"]}
    found = None
    for entry in kept:
        keys = ("days", "period", "store_id")
        if entry.act == entries.PREPARED and all(entry.body[key] == body[key] for key in keys):
            found = entry
        elif (entry.act == entries.CLOSED and days & {each["day"] for each in entry.body["days"]}) or (
            entry.act == entries.REOPENED and entry.body["day"] in days
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


def _name(period: BookPeriod, store_id: int | None) -> str:
    days = f"{period.first_day}" if period.first_day == period.last_day else f"{period.first_day} to {period.last_day}"
    return days if store_id is None else f"{days} of store {store_id}"


def orders_to_close(release: Released, closes: Closes, unclosed: dict[dt.date, list[int] | None]) -> pa.Table:
    """Return the orders of the unclosed days and stores, in the shape of CLOSED_ORDERS."""
    # one row per day with store null for all of its stores; is_excluded: closed separately
    whole = [day for day, stores in unclosed.items() if stores is None]
    scope: list[tuple[dt.date, int | None, bool]] = [(day, None, False) for day in whole]
    scope += [(day, store, True) for day in whole for store in closes.separately_closed_stores(day)]
    scope += [(day, store, False) for day, stores in unclosed.items() for store in stores or ()]
    columns = {"business_date": pa.date32(), "store_id": pa.int64(), "is_excluded": pa.bool_()}
    release.con.register("close_scope", arrow_table(scope, **columns))
    release.con.execute(f"create or replace temp view order_total_parts as {finance_sql('total_parts')}")
    return release.con.execute(finance_sql("orders_to_close")).to_arrow_table().cast(entries.CLOSED_ORDERS)


def fingerprint(con: duckdb.DuckDBPyConnection, rows: pa.Table) -> str:
    """Return a fingerprint of orders, whatever their sequence and when they were last fetched."""
    con.register("drafted_orders", rows.drop_columns(_UNSTABLE))
    ((found,),) = con.execute(
        "select bit_xor(md5_number(cast(drafted as varchar))) from drafted_orders as drafted"
    ).fetchall()  # to its end: from DuckDB 2.0 on an unfinished result blocks `register`
    con.unregister("drafted_orders")
    return f"{rows.num_rows}-{found}"


def totals(rows: pa.Table) -> Totals:
    """Return the totals of orders by sale class and currency."""
    grouped = rows.group_by(["sale_class", "currency"]).aggregate([("order_id", "count"), ("total_price", "sum")])
    rows = grouped.to_pylist()
    found = ((row["sale_class"], row["order_id_count"], row["currency"] or "", row["total_price_sum"]) for row in rows)
    return tuple(sorted(found))


def period_totals(release: Released, period: BookPeriod, store_id: int | None) -> Totals:
    """Return the totals of every active close of a period, whichever entries made them."""
    ledger = release.ledger
    first, last = period.first_day.isoformat(), period.last_day.isoformat()
    closes = ledger.entries(entries.CLOSED)
    files = [ledger.file(each) for each in closes if any(first <= of["day"] <= last for of in each.body["days"])]
    if not files:
        return ()
    con = release.con
    con.register("day_closes", table_of("raw.day_closes", day_closes(Closes(ledger.entries()))))
    con.execute(f"create or replace temp view closed_orders as {select_rows(files, entries.CLOSED_ORDERS.names)}")
    rows = con.execute(
        "select sale_class, count(*) as order_count, coalesce(currency, '') as currency, sum(total_price) "
        f"from ({finance_sql('active_closed_orders')}) where $store_id is null or store_id = $store_id "
        "group by all order by sale_class, order_count, currency",
        {"first_day": period.first_day, "last_day": period.last_day, "store_id": store_id},
    ).fetchall()
    return tuple((sale_class, count, currency, total) for sale_class, count, currency, total in rows)


@dataclass(frozen=True)
class Reversal:
    """What was posted to a period, and the period it is reversed in: how many rows, and -total_price by currency."""

    posted_period: str
    period: str
    restatement_count: int
    amounts: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Reopened:
    """A reopened day: its entry, and what was reversed."""

    entry: LedgerEntry
    reversals: tuple[Reversal, ...] = ()


def reopen(
    settings: Settings, day: dt.date, store_id: int | None, reason: str, user: entries.User | None = None
) -> Reopened:
    """Reopen a day, of all stores or of one, and reverse its posted restatements.

    Each is reversed in the period that holds its posting if that is open, else in the earliest open one after it. Raise
    FinanceError if the day is not closed, or if there is something to reverse and no open period.
    """
    ledger = signing_ledger(settings)
    closes = Closes(ledger.entries())
    name = f"{day}" if store_id is None else f"{day} of store {store_id}"
    if not closes.is_any(day, store_id):
        raise FinanceError(f"{name} is not closed: nothing to reopen")
    body: dict[str, Any] = {"day": day.isoformat(), "store_id": store_id, "reason": reason}
    body |= (user or entries.current_user()).body
    posted: dict[str, list[dict[str, Any]]] = {}
    for row in ledger_restatements(settings, everything=True):
        is_of_day = row["business_date"] == day and store_id in {None, row["store_id"]}
        if is_of_day and row["posted_period"] is not None and row["reversed_period"] is None:
            posted.setdefault(row["posted_period"], []).append(row)
    if not posted:
        return Reopened(ledger.append(entries.REOPENED, body))
    closes.reopen(day, store_id)  # its own period is open from now on
    stores = stores_by_day(settings)
    reversals, numbers = [], []
    for posted_period, rows in sorted(posted.items()):
        held = period_of(settings, posted_period)
        period = earliest_open(settings, closes, held.first_day, stores) if is_closed(closes, held, stores) else held
        if period is None:
            raise FinanceError(
                f"{name} has {len(rows):,} restatements posted to {posted_period}, and no period from then on is open "
                "to reverse them in: add the next period to [closing] periods_file"
            )
        amounts = tuple((currency, -amount) for currency, amount in total_prices(rows))
        reversals.append(Reversal(posted_period, period.name or "", len(rows), amounts))
        numbers += [{"restatement_no": row["restatement_no"], "period": period.name} for row in rows]
    body["restatement_count"] = len(numbers)
    entry = ledger.append(entries.REOPENED, body, pa.Table.from_pylist(numbers, schema=entries.REVERSALS))
    return Reopened(entry, tuple(reversals))
