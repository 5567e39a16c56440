"""Find blockers, a sentence each: what must be fixed, or accepted with a reason, before a day is closed."""

import datetime as dt
import zoneinfo
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.clock import utc_now
from pipelines.finance.reconciliation import create_break_views, describe_total, untied_totals
from pipelines.finance.released import (
    BookPeriod,
    FinanceError,
    Released,
    Selection,
    arrow_table,
    finance_sql,
    gaps,
    money_of,
    open_release,
    records,
)
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import GAP_PROBE, WorkList
from pipelines.inventory import WORK_LIST, read_inventory
from pipelines.landing.raw_folder import raw_files
from pipelines.ledger import Closes, LedgerEntry, effective_totals
from pipelines.ledger.entries import NO_ORDERS, User, accepted_without_orders
from pipelines.literals import literals
from pipelines.record import Verdict
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS

_SHOWN = 5  # in a message
_CHECKED_TOO_EARLY = """
    select order_id from orders_to_close
    where close_at is null or last_checked_at is null or last_checked_at < close_at order by order_id
"""
# An order in no table may be of any day that had begun when it was last quarantined.
_QUARANTINED = """
    select entity_id from audit.quarantine
    where kind = 'orders' and is_unresolved and (
        entity_id in (select order_id from orders_to_close)
        or (
            (entity_id is null or entity_id not in (select order_id from mart.orders))
            and (last_seen_at is null or last_seen_at >= ?)
        )
    )
    order by entity_id
"""
# The order whose id came back is of the day that its rows name, the other one of a day that only its change names.
_REPLACED = """
    select distinct entity_id from audit.findings
    where check_name = 'core.order_changes__are_of_one_order' and (
        entity_id in (select order_id from orders_to_close)
        or entity_id in (
            select order_id from core.order_changes
            where field = 'created_at' and try_cast(new_value as date) between ?::date - 1 and ?::date + 1
        )
    )
    order by entity_id
"""
StoreDay = tuple[dt.date, int]
_MOST_FOR_A_WORD = 3
# kind → how its sentences begin; what no kind names is missing
KINDS_OF_BLOCKERS = {
    "time": ("day not ended", "orders last checked"),
    "stores": ("stores without orders",),
    "periods": ("gap between",),
    "statuses": ("unmapped",),
    "rules": ("indeterminate", "configured rule"),
    "breaks": ("breaks above",),
    "totals": ("control totals",),
    "missing": ("",),
}


def reason_by_kind(blockers: Sequence[str], given: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the reason to accept blockers, and the kinds that it lacks: a word is none for more than three kinds."""
    of = {next(kind for kind, starts in KINDS_OF_BLOCKERS.items() if each.startswith(starts)) for each in blockers}
    kinds = [kind for kind in KINDS_OF_BLOCKERS if kind in of]
    rest = given.get("", "")
    if len(kinds) > _MOST_FOR_A_WORD and len(rest.split()) == 1:
        rest = ""
    reasons = {kind: given.get(kind) or rest for kind in kinds}
    same = {*reasons.values()}
    said = [*same] if len(same) == 1 else [f"{kind}: {reason}" for kind, reason in reasons.items()]
    return "; ".join(said), [kind for kind in kinds if not reasons[kind]]


def reasons_given(texts: Sequence[str]) -> dict[str, str]:
    """Return the reasons of texts such as "breaks=known": kind → reason; of one that names no kind, of ""."""
    parts = [text.partition("=") for text in texts]
    named = [
        (kind.strip(), why) if kind.strip() in KINDS_OF_BLOCKERS else ("", f"{kind}{sep}{why}")
        for kind, sep, why in parts
    ]
    return {kind: why.strip() for kind, why in named}


def find_blockers(
    settings: Settings, released: Released, period: BookPeriod, store_id: int | None, now: dt.datetime
) -> Verdict:
    """Decide whether the open ones of these days can be closed, of all stores or of one; a blocker is a sentence."""
    con, closes = released.con, Closes(released.ledger.entries())
    if not (days := [day for day in period.days if closes.unclosed_stores(day, store_id) != []]):
        return Verdict({"open days": 0})
    ends = _ends(settings, released, days, store_id)
    con.register("day_ends", ends)
    query = "select distinct business_date, store_id from mart.daily_store_sales where business_date between ? and ?"
    trading = con.execute(query, [period.first_day, period.last_day]).fetchall()
    closed = arrow_table((each for each in trading if closes.of(*each)), business_date=pa.date32(), store_id=pa.int64())
    con.register("closed_store_days", closed)
    con.execute(
        f"""
        create or replace temp view orders_to_close as
        select orders.*, day_ends.close_at
        from mart.orders as orders
        left join day_ends
            on orders.business_date = day_ends.business_date and orders.timezone = day_ends.timezone
        anti join closed_store_days as closed
            on orders.business_date = closed.business_date and orders.store_id is not distinct from closed.store_id
        where orders.business_date between date '{period.first_day}' and date '{period.last_day}'
            and {"true" if store_id is None else f"orders.store_id = {store_id}"}
        """
    )
    checked_counts = {"open days": len(days)} | {
        name: int(released.con.execute(f"select count(*) from {table}").fetchall()[0][0])
        for name, table in (("orders", "orders_to_close"), ("loads", "audit.loads"))
    }
    path = inbox_path(settings.data_dir)
    is_lost = not path.exists() and WORK_LIST in read_inventory(settings.data_dir).stores
    lost = f"{path} is missing: ids that are due, failed or were given up are unknown; `ordermart run`"
    early = "orders last checked before their day could be closed: {}; fetch them: `ordermart run --order-ids FILE`"
    refused = "quarantined or failed, on these days or an unknown day: {}; see audit.quarantine"
    reused = "ids reused for another order: {}; see core.order_changes. The earlier order is kept;"
    reused += " to count the other one instead, add the id to [closing] replaced_orders and run `ordermart build`"
    blockers = [
        *_day_not_ended(ends, now, f"{settings.closing.close_after_hours:g}"),
        *_not_built(settings, released),
        *_named(released, early, _CHECKED_TOO_EARLY),
        *(_unfinished_work(path, released, days[0], now) if path.exists() else ()),
        *_named(released, refused, _QUARANTINED, _earliest(days[0])),
        *_named(released, reused, _REPLACED, period.first_day, period.last_day),
        *_unmapped(released),
        *_indeterminate(settings, released),
        *_refuted_settings(released),
        *find_book_blockers(settings, released, closes, period, store_id, now),
    ]
    return Verdict(checked_counts, blockers, [lost] if is_lost else [])


def _ends(settings: Settings, released: Released, days: Sequence[dt.date], store_id: int | None) -> pa.Table:
    """Return when each day can be closed, for every time zone in use: its end there plus close_after_hours."""
    only = "" if store_id is None else f"where store_id = {store_id}"
    rows = released.con.execute(
        f"select distinct timezone from (select timezone from mart.orders {only} "
        f"union all select timezone from core.stores {only})"
    )
    zones = {row[0] for row in rows.fetchall()} & zoneinfo.available_timezones() or {settings.business_day.timezone}
    start = dt.time.fromisoformat(settings.business_day.day_start)
    wait = dt.timedelta(hours=settings.closing.close_after_hours)

    def end(day: dt.date, zone: str) -> dt.datetime:
        local = dt.datetime.combine(day + dt.timedelta(days=1), start, zoneinfo.ZoneInfo(zone))
        return local.astimezone(dt.UTC) + wait

    ends = ((day, zone, end(day, zone)) for zone in sorted(zones) for day in days)
    instant = pa.timestamp("us", tz="UTC")
    return arrow_table(ends, business_date=pa.date32(), timezone=pa.string(), close_at=instant)


def _day_not_ended(ends: pa.Table, now: dt.datetime, hours: str) -> Iterator[str]:
    last: dict[str, Any] = max(ends.to_pylist(), key=lambda end: end["close_at"])
    if last["close_at"] > now:
        yield (
            f"day not ended: {last['business_date']} in {last['timezone']} can be closed from "
            f"{last['close_at']:%Y-%m-%d %H:%M} UTC ([closing] close_after_hours = {hours})"
        )


def _not_built(settings: Settings, released: Released) -> Iterator[str]:
    """Yield landed documents that the release lacks, but for those seen again."""
    built = {row[0] for row in released.con.execute("select load_id from audit.loads").fetchall()}
    for kind in KINDS:
        landed = raw_files(settings.data_dir, kind).observations
        if not (files := [file for file in landed if not built.issuperset(file.load_ids)]):
            continue
        what = f"landed and not in the release, {kind}: {{}}; run `ordermart build`"
        new = "verdict <> 'unchanged' and load_id not in (select load_id from audit.loads)"
        stored = f"read_parquet([{literals(file.path for file in files)}])"
        yield from _named(released, what, f"select distinct id from {stored} where {new} order by id")


def _unfinished_work(path: Path, released: Released, first_day: dt.date, now: dt.datetime) -> Iterator[str]:
    with WorkList(path) as work:
        letters = [letter.id for letter in work.dead_letters("orders")]
        failing = work.failing("orders")
        due = work.due_counts(now).get("orders", 0)
        first = work.due("orders", now, _SHOWN)
        gone = work.ids_in("orders", "given_up", since=_earliest(first_day))
        given_up = [id_ for id_ in gone if (entry := work.entry("orders", id_)) and entry.why != {GAP_PROBE}]
    if letters:
        yield f"in the dead-letter queue: {_listed(letters)}; `ordermart retry`, then `ordermart run`"
    if failing:
        yield f"failed and asked for again later: {_listed(failing)}; `ordermart retry`, then `ordermart run`"
    if due:
        yield f"due and not fetched yet: {_listed(first, due)}; `ordermart run`"
    query = (
        "select id from (select unnest(?::bigint[]) as id) as given where id not in (select order_id from mart.orders) "
        "or id in (select order_id from orders_to_close where not is_deleted) order by id"
    )
    yield from _named(released, "not found (404): {}", query, given_up)


def _earliest(first_day: dt.date) -> dt.datetime:
    """Return when the first day began anywhere: what failed before is not an order of these days."""
    return dt.datetime.combine(first_day, dt.time(), dt.UTC) - dt.timedelta(hours=14)


def _unmapped(released: Released) -> Iterator[str]:
    select = "select currency, count(*), sum(total_price) from orders_to_close where sale_class = 'unmapped'"
    rows = released.con.execute(f"{select} group by currency order by currency").fetchall()
    for currency, count, total in rows:
        amount = money_of(total, currency or "(no currency)")
        yield f"unmapped, status in neither list of [sales]: orders {count:,}, total_price {amount}"


def indeterminate_amounts(released: Released) -> dict[str, dict[str, Any]]:
    """Return currency → order_count and total_price of the indeterminate orders that `find_blockers` looked at."""
    rows = released.con.execute(
        "select coalesce(currency, ''), count(*), coalesce(sum(total_price), 0) "
        f"from ({finance_sql('indeterminate_orders')}) group by all order by all"
    ).fetchall()
    return {currency: {"order_count": count, "total_price": str(total)} for currency, count, total in rows}


def _indeterminate(settings: Settings, released: Released) -> Iterator[str]:
    rows = released.con.execute(
        "select currency, why, list(order_id order by order_id), sum(total_price) "
        f"from ({finance_sql('indeterminate_orders')}) group by all order by currency nulls last, why"
    ).fetchall()
    if sum(len(ids) for _, _, ids, _ in rows) > settings.closing.max_indeterminate:
        for currency, why, ids, total in rows:
            amount = money_of(total, currency or "(no currency)")
            yield f"indeterminate, no rule in force explains them: orders {_listed(ids)}, total_price {amount}; {why}"


def _refuted_settings(released: Released) -> Iterator[str]:
    select = "select scope, sentence from audit.formula_populations where rule_setting_no is not null"
    refuted = released.con.execute(f"{select} and verdict = 'none' order by all").fetchall()
    yield from (f"configured rule refuted: {scope}: {sentence}" for scope, sentence in refuted)


def _named(released: Released, sentence: str, select: str, *values: Any) -> Iterator[str]:
    """Yield the sentence about the ids that a select gives, if any."""
    if ids := [row[0] for row in released.con.execute(select, list(values)).fetchall()]:
        yield sentence.format(_listed(ids))


def _listed(found: Sequence[object], count: int | None = None, between: str = ", ") -> str:
    total = len(found) if count is None else count
    shown = between.join("no id" if each is None else str(each) for each in found[:_SHOWN])
    return f"{total:,} ({shown}{f'{between}…' if total > _SHOWN else ''})"


def find_book_blockers(
    settings: Settings, released: Released, closes: Closes, period: BookPeriod, store_id: int | None, now: dt.datetime
) -> Iterator[str]:
    """Yield one sentence for each blocker on open days."""
    selection = Selection(period.first_day, period.last_day, store_id)
    yield from _breaks(settings, released, closes, selection)
    yield from _control_totals(released, closes, selection)
    if settings.closing.require_control_totals:
        yield from _absent_totals(released)
    found = days_without_orders(settings, released, period, store_id, now)
    if empty := [(day, store) for day, store in found if not closes.of(day, store)]:
        what = f"stores without orders on days that usually have some: {_store_days(empty)}; fetch them, or accept them"
        yield f'{what}: `ordermart close accept-no-orders DAY --reason "…"`'
    for before, after in gaps(settings):
        if before.last_day < period.last_day:
            first, last = before.last_day + dt.timedelta(days=1), after.first_day - dt.timedelta(days=1)
            days = f"{first} is" if first == last else f"{first} to {last} are"
            yield f"gap between fiscal periods: {days} neither in {before.name} nor in {after.name}; correct the file"


def days_without_orders(
    settings: Settings, released: Released, period: BookPeriod, store_id: int | None, now: dt.datetime
) -> list[StoreDay]:
    """Return the store-days without orders that usually have some, unless accepted, or too early to be closed."""
    ends = _ends(settings, released, period.days, store_id).to_pylist()
    open_days = {end["business_date"] for end in ends if end["close_at"] > now}
    values = {"first_day": period.first_day, "last_day": period.last_day, "store_id": store_id}
    found = released.con.execute(finance_sql("days_without_orders"), values).fetchall()
    accepted = accepted_without_orders(released.ledger.entries())
    return [(day, store) for day, store in found if (day, store) not in accepted and day not in open_days]


def _breaks(settings: Settings, released: Released, closes: Closes, selection: Selection) -> Iterator[str]:
    """Yield the open breaks above the tolerance of their currency, which sums are never added across."""
    create_break_views(released)
    select = "select currency, order_id, abs_residual, business_date, store_id from open_breaks as rows"
    rows = records(released.con, f"{select} where {selection.where()} order by currency nulls last, order_id")
    by_currency: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if closes.of(row["business_date"], row["store_id"]):
            continue
        if row["abs_residual"] > Decimal(settings.closing.tolerance.get(row["currency"] or "", "0")):
            by_currency.setdefault(row["currency"] or "", []).append(row)
    for currency, breaks in by_currency.items():
        added = money_of(sum((row["abs_residual"] for row in breaks), Decimal(0)), currency)
        ids = _listed([row["order_id"] for row in breaks])
        yield f"breaks above the tolerance: {ids}, absolute residuals {added}; see `ordermart breaks list`"


def _control_totals(released: Released, closes: Closes, selection: Selection) -> Iterator[str]:
    query = "select business_date, store_id, amount_field, sale_classes, entry_no from audit.control_totals"
    known = {*released.con.execute(query).fetchall()}
    new = (total for entry, total in effective_totals(released.ledger) if (*total.key, entry.no) not in known)
    chosen = (each for each in new if selection.includes(each.business_date, each.store_id))
    later = [each for each in chosen if not closes.of(each.business_date, each.store_id)]
    if later:
        yield f"control totals not compared yet: {len(later):,}; run `ordermart build`"
    all_rows = untied_totals(released.con, selection)
    rows = [row for row in all_rows if not closes.of(row["business_date"], row["store_id"])]
    for status, head in (("variance", "control totals that differ"), ("unknown", "control totals not comparable")):
        if shown := [describe_total(row) for row in rows if row["tie_out_status"] == status]:
            yield f"{head}: {_listed(shown, between='; ')}"


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


def accept_no_orders(settings: Settings, period: BookPeriod, store_id: int | None, why: str, user: User) -> LedgerEntry:
    """Record that store-days which usually have orders have none; raise FinanceError if there is none to accept."""
    with open_release(settings) as release:
        if not (empty := days_without_orders(settings, release, period, store_id, utc_now())):
            raise FinanceError("nothing to accept: none of these store-days lacks its usual orders")
        days = [{"day": day.isoformat(), "store_id": store} for day, store in empty]
        return release.ledger.append(NO_ORDERS, {"days": days, "reason": why, **user.body})
