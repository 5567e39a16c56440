"""The current release as finance reads it: one DuckDB file, read-only, resolved once; and what a close keeps of it.

Amounts are written with the digits of their currency, exactly: 40,080 JPY, 1.210 KWD. Business days are those of a
period (a month, or a fiscal period of [closing] periods_file), or selected for a report.
"""

import csv
import datetime as dt
import io
import itertools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from pipelines.landing.exact import YEARS
from pipelines.landing.shape import currency_decimals, read_sql
from pipelines.ledger import Closes, Ledger
from pipelines.ledger.signed_head import signing_ledger
from pipelines.literals import one_line, unmarked
from pipelines.record import Exit, current_release
from pipelines.settings import Settings, SettingsError
from pipelines.warehouse.catalogue.tables import SQL
from pipelines.warehouse.release.manifest import DATABASE, ReleaseManifest, read_manifest
from pipelines.warehouse.rows.session import fingerprint_of, rules_of_settings

StoresByDay = Mapping[dt.date, set[int | None]]  # stores with orders, by business day


_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_WRITTEN_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_COLUMNS = ("period", "first_day", "last_day")


@dataclass(frozen=True)
class BookPeriod:
    """A span of business days, both ends included; `name` is None for a single day."""

    first_day: dt.date
    last_day: dt.date
    name: str | None = None

    @property
    def days(self) -> list[dt.date]:
        """Every day of it."""
        return [self.first_day + dt.timedelta(days=n) for n in range((self.last_day - self.first_day).days + 1)]


def one_day(text: str) -> BookPeriod:
    """Return the period of one day written as 2026-10-31; raise SettingsError if it is not a date."""
    day = _day(text, f"{text!r} is not a valid day: use one of 1970 to 2100, such as 2026-10-31")
    return BookPeriod(day, day)


def period_or_day(settings: Settings, name: str) -> BookPeriod:
    """Return the period of that name, or the day if it is written as one and the file does not list it."""
    if _WRITTEN_DAY.fullmatch(name) and name not in fiscal_periods(settings):
        return one_day(name)
    return period_of(settings, name)


def period_of(settings: Settings, name: str) -> BookPeriod:
    """Return the period of that name, listed or a calendar month; raise SettingsError if neither, or unreadable."""
    listed = fiscal_periods(settings)
    if name in listed:
        return listed[name]
    where = f"in {settings.closing.periods_file}" if listed else "in [closing] periods_file, which is not set"
    complaint = f"{name!r} is not a valid period: use a month such as 2026-10, or a name listed {where}"
    return _month_of(_day(f"{name}-01" if _MONTH.fullmatch(name) else "", complaint))


def period_holding(settings: Settings, day: dt.date) -> BookPeriod:
    """Return the period of a day: the listed one that has it, else its calendar month."""
    listed = fiscal_periods(settings).values()
    return next((period for period in listed if period.first_day <= day <= period.last_day), _month_of(day))


def is_closed(closes: Closes, period: BookPeriod, stores: StoresByDay) -> bool:
    """Return whether a period is closed, at once or store by store.

    Every day of it is closed for every store, or else for each store that has an order on any day of it; an order
    without a store (None) is closed with every store only.
    """
    trading = {store for day in period.days for store in stores.get(day, ())}
    return all(
        closes.is_closed(day) or (trading and all(closes.of(day, store) is not None for store in trading))
        for day in period.days
    )


def earliest_open(settings: Settings, closes: Closes, day: dt.date, stores: StoresByDay) -> BookPeriod | None:
    """Return the first period from that of a day on that is not closed; None if every one of periods_file is."""
    listed = sorted(fiscal_periods(settings).values(), key=lambda period: period.first_day)
    following = [period for period in listed if period.last_day >= day] if listed else _months_from(day)
    return next((period for period in following if not is_closed(closes, period, stores)), None)


def gaps(settings: Settings) -> list[tuple[BookPeriod, BookPeriod]]:
    """Return the pairs of consecutive periods of periods_file with days between them."""
    listed = sorted(fiscal_periods(settings).values(), key=lambda period: period.first_day)
    pairs, day = itertools.pairwise(listed), dt.timedelta(days=1)
    return [(before, after) for before, after in pairs if after.first_day > before.last_day + day]


def _months_from(day: dt.date) -> Iterator[BookPeriod]:
    """Yield the month of a day and those after it."""
    month = _month_of(day)
    while True:
        yield month
        month = _month_of(month.last_day + dt.timedelta(days=1))


def _month_of(day: dt.date) -> BookPeriod:
    first = day.replace(day=1)
    following = (first + dt.timedelta(days=31)).replace(day=1)
    return BookPeriod(first, following - dt.timedelta(days=1), f"{first:%Y-%m}")


def fiscal_periods(settings: Settings) -> dict[str, BookPeriod]:
    """Return the periods of [closing] periods_file by name; empty if it is not set."""
    if not settings.closing.periods_file:
        return {}
    path = settings.file.parent / settings.closing.periods_file
    try:
        with io.StringIO(unmarked(path.read_bytes()).decode(), newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != _COLUMNS:
                raise SettingsError(f"[closing] periods_file: {path} must start with the line {','.join(_COLUMNS)}")
            return _without_overlap(path, [_period(path, reader.line_num, row) for row in reader])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"[closing] periods_file: {path} cannot be read: {error}") from None


def _period(path: Path, line: int, row: dict[str, str | None]) -> BookPeriod:
    where = f"[closing] periods_file: {path.name}, line {line}"
    name = (row["period"] or "").strip()
    first = _day(row["first_day"] or "", f"{where}: first_day must be a date such as 2026-10-01")
    last = _day(row["last_day"] or "", f"{where}: last_day must be a date such as 2026-10-31")
    if not name or last < first:
        raise SettingsError(f"{where}: period must have a name, and last_day must not be before first_day")
    return BookPeriod(first, last, name)


def _without_overlap(path: Path, periods: list[BookPeriod]) -> dict[str, BookPeriod]:
    by_day = sorted(periods, key=lambda period: period.first_day)
    for before, after in itertools.pairwise(by_day):
        if after.first_day <= before.last_day:
            raise SettingsError(f"[closing] periods_file: {path.name}: {before.name} and {after.name} overlap")
    named = {period.name or "": period for period in periods}
    if len(named) != len(periods):
        raise SettingsError(f"[closing] periods_file: {path.name}: a period is listed twice")
    return named


def _day(text: str, complaint: str) -> dt.date:
    with suppress(ValueError):
        if (day := dt.datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=dt.UTC).date()).year in YEARS:
            return day
    raise SettingsError(complaint)


@dataclass(frozen=True)
class Selection:
    """Orders of business days from `since` to `until`, inclusive, and of one store; None means no limit."""

    since: dt.date | None = None
    until: dt.date | None = None
    store_id: int | None = None

    @classmethod
    def between(cls, since: str, until: str, store_id: int | None = None) -> "Selection":
        """Return the selection of days written as 2026-10-31, '' for no limit; raise SettingsError for another text."""
        first, last = _option_day("--from", since), _option_day("--to", until)
        if first and last and first > last:
            raise SettingsError(f"--from {first} is after --to {last}: exchange them")
        return cls(first, last, store_id)

    def where(self, day: str = "business_date") -> str:
        """Return the condition on `rows`, whose business date is column `day`; orders without a day match no limit.

        `$selected` in `sql/finance/listing_*.sql` stands for it.
        """
        parts = []
        if self.since is not None:
            parts.append(f"rows.{day} >= date '{self.since.isoformat()}'")
        if self.until is not None:
            parts.append(f"rows.{day} <= date '{self.until.isoformat()}'")
        if self.store_id is not None:
            parts.append(f"rows.store_id = {self.store_id:d}")
        return " and ".join(parts) or "true"

    def includes(self, day: dt.date, store_id: int) -> bool:
        """Return whether a store's day is selected."""
        return (
            (self.since is None or day >= self.since)
            and (self.until is None or day <= self.until)
            and self.store_id in {None, store_id}
        )

    @property
    def description(self) -> str:
        """The selection in words."""
        since, until = self.since, self.until
        first, last = f" from {since}" if since else "", f" to {until}" if until else ""
        days = f"business days {since}{last}" if since and until else f"business days{first}{last}"
        days = days if since or until else "all business days"
        return f"{days}, " + ("all stores" if self.store_id is None else f"store {self.store_id}")


def _option_day(option: str, text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"{option}: {text!r} is not a valid day; use 2026-10-31") from None


# Settings tables that decide an order's business day and sale class, whatever its document.
PLACING = ("business_day", "sales")
_AGAIN_SECONDS = 0.05
MOST = 10_000  # characters of a text, such as a sentence that names many values
DAYS = "business_date"
Scope = tuple[str, int]  # rule target, number of a population or of a division
Condition = dict[str, Any]
_ORDER_DAYS = "select distinct business_date from mart.orders where business_date is not null order by business_date"


class FinanceError(Exception):
    """A finance command cannot be carried out; the message says why and what to do."""


class OldReleaseError(FinanceError):
    """The current release lacks tables or columns that this version reads; the next run publishes another."""

    exit_code = Exit.OPEN


@dataclass(frozen=True)
class ReadLimits:
    """What reading a release may use in all, beside Python itself."""

    time: dt.timedelta
    memory_mib: int


@dataclass(frozen=True)
class Released:
    """An open release: its folder, its manifest and a connection in UTC, beside the ledger of its data folder."""

    path: Path
    manifest: ReleaseManifest
    con: duckdb.DuckDBPyConnection
    ledger: Ledger


@contextmanager
def open_release(settings: Settings, limits: ReadLimits | None = None, path: Path | None = None) -> Iterator[Released]:
    """Open the current release or that of a folder; raise FinanceError if there is none, it is too old or too large."""
    path = path or current_release(settings.data_dir / "published")
    manifest = read_manifest(path) if path else None
    if path is None or manifest is None:
        raise FinanceError(f"there is no release in {settings.data_dir / 'published'}: run `ordermart run` first")
    try:
        with duckdb.connect(str(path / DATABASE), read_only=True) as con:
            con.execute("set timezone = 'UTC'")
            with _limited(con, limits) if limits else nullcontext():
                yield Released(path, manifest, con, signing_ledger(settings))
    except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException):
        raise OldReleaseError(f"release {path.name} is of an older version; run `ordermart run`") from None
    except duckdb.IOException:
        raise FinanceError(f"release {path.name} cannot be read; the next `ordermart run` publishes it again") from None


@contextmanager
def _limited(con: duckdb.DuckDBPyConnection, limits: ReadLimits) -> Iterator[None]:
    con.execute(f"set memory_limit = '{limits.memory_mib}MiB'")
    is_done = threading.Event()

    def interrupt() -> None:
        if not is_done.wait(limits.time.total_seconds()):
            con.interrupt()
            while not is_done.wait(_AGAIN_SECONDS):  # it ends one query, and another may follow
                con.interrupt()

    watch = threading.Thread(target=interrupt, daemon=True)
    watch.start()
    try:
        yield
    except duckdb.InterruptException:
        raise FinanceError(f"reading the release took longer than {limits.time.total_seconds():g} seconds") from None
    except duckdb.OutOfMemoryException:
        raise FinanceError(f"reading the release takes more than {limits.memory_mib} MiB") from None
    finally:
        is_done.set()
        watch.join()


def stores_by_day(settings: Settings) -> dict[dt.date, set[int | None]]:
    """Return the stores with orders of each business day of the current release; {} if there is no release."""
    if current_release(settings.data_dir / "published") is None:
        return {}
    found: dict[dt.date, set[int | None]] = {}
    with open_release(settings) as release:
        placed = "select distinct business_date, store_id from mart.daily_store_sales where business_date is not null"
        for day, store_id in release.con.execute(placed).fetchall():
            found.setdefault(day, set()).add(store_id)
    return found


def finance_sql(name: str) -> str:
    """Return the select in `sql/finance/<name>.sql`."""
    return read_sql(SQL / "finance" / f"{name}.sql")


def check_release_settings(settings: Settings, manifest: ReleaseManifest) -> None:
    """Raise FinanceError if the release was built with other settings than the current ones."""
    if manifest.fingerprint.get("the settings") != fingerprint_of(settings)["the settings"]:
        why = "was built with other settings than the current ones"
        raise FinanceError(f"release {manifest.id} {why}: run `ordermart build` first")


def circumstances(
    settings: Settings, con: duckdb.DuckDBPyConnection, manifest: ReleaseManifest | None, code: dict[str, str]
) -> dict[str, Any]:
    """Return what an entry keeps of the release it was made in (None: none), the settings, the rules and the code."""
    made = {"release": manifest.id if manifest else None, "release_as_of": manifest.as_of if manifest else None}
    return {**made, "settings": effective_settings(settings), "rules": _rules(settings, con), "code": code}


def _rules(settings: Settings, con: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the rule of each population and its orders: the configured rule, else the one that the evidence gives."""
    configured, conditions = rules_of_settings(settings), population_conditions(con)
    select = "select rule_target, scope, rule, verdict, rule_setting_no, is_assumable, open_parts, population_no"
    rules = con.execute(f"{select} from audit.formula_populations order by all")
    names = [column[0] for column in rules.description or ()]
    found = [dict(zip(names, row, strict=True)) for row in rules.fetchall()]
    for rule in found:
        number = rule.pop("rule_setting_no")
        rule["conditions"] = conditions.get((rule["rule_target"], rule.pop("population_no")), [])
        rule["is_configured"] = number is not None
        if number is not None:
            rule["rule"] = configured[number - 1][1]
            rule["conditions"] = [{"dimension": "rule_setting", "is_other": False, "values": [str(number)]}]
    return found


def effective_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that decide where an order is counted and which rules apply; none of them is a secret."""
    kept = {name: getattr(settings, name) for name in (*PLACING, "menus", "formula", "closing")}
    return {name: msgspec.to_builtins(value) for name, value in kept.items()}


def records(db: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries by column name, to be shown: each text on one plain line."""
    cursor = db.execute(query, list(values))
    names = [column[0] for column in cursor.description or ()]
    return [{name: _shown(value) for name, value in zip(names, row, strict=True)} for row in cursor.fetchall()]


def arrow_table(rows: Iterable[tuple[Any, ...]], **columns: pa.DataType) -> pa.Table:
    """Return rows as a table of these columns, to be registered."""
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(named, pa.schema(list(columns.items())))


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    return one_line(value, MOST) if isinstance(value, str) else value


@dataclass
class _Child:
    """The part of one division that is a population, or divided further."""

    parent: Scope
    dimension: str
    part_no: int | None
    is_rest: bool
    values: list[str | None] = field(default_factory=list)


def population_conditions(con: duckdb.DuckDBPyConnection) -> dict[Scope, list[Condition]]:
    """Return the conditions that the orders of each population meet, all of them, from workings.formula_divisions.

    A condition has a `dimension`, a column of orders, or a `part` that an order holds ("1") or not ("0"); its `values`,
    or `spans` of days, first and last, null without a limit; and `is_other`: whether it is about all other values.
    """
    children = _children(con)
    days = [row[0].isoformat() for row in con.execute(_ORDER_DAYS).fetchall()]
    found = {}
    for scope in children:
        conditions: list[Condition] = []
        child = children.get(scope)
        while child is not None:
            conditions.insert(0, _condition(child, children, days))
            child = children.get(child.parent)
        found[scope] = conditions
    return found


def _children(con: duckdb.DuckDBPyConnection) -> dict[Scope, _Child]:
    select = "select rule_target, node_no, dimension, part_no, is_rest, value, child_no"
    rows = con.execute(f"{select} from workings.formula_divisions order by all").fetchall()
    found: dict[Scope, _Child] = {}
    for target, node_no, dimension, part_no, is_rest, value, child_no in rows:
        child = found.setdefault((target, child_no), _Child((target, node_no), dimension, part_no, is_rest))
        if not is_rest:
            child.values.append(value)
    return found


def _condition(child: _Child, children: dict[Scope, _Child], days: list[str]) -> Condition:
    values = child.values
    if child.is_rest:
        values = [value for other in children.values() if other.parent == child.parent for value in other.values]
    condition: Condition = {"is_other": child.is_rest}
    if child.part_no is not None:
        return condition | {"part": child.dimension, "values": values}
    if child.dimension == DAYS:
        return condition | {"dimension": DAYS, "spans": _spans({*values}, days)}
    return condition | {"dimension": child.dimension, "values": values}


def _spans(values: set[str | None], days: list[str]) -> list[list[str | None]]:
    """Return days as spans among all days with orders; one that begins or ends with those has no limit there."""
    spans: list[list[int]] = []
    for place, day in enumerate(days):
        if day not in values:
            continue
        if spans and spans[-1][1] == place - 1:
            spans[-1][1] = place
        else:
            spans.append([place, place])
    last = len(days) - 1
    return [[days[a] if a > 0 else None, days[b] if b < last else None] for a, b in spans]


NOT_STATED = "not stated"


def money(amount: Decimal | None, currency: str | None = None, *, is_signed: bool = False) -> str:
    """Return an amount exactly, with at least the digits of its currency and at most four; null as 'not stated'."""
    if amount is None:
        return NOT_STATED
    whole, _, decimals = f"{amount:{'+' if is_signed else ''},.4f}".partition(".")
    least = currency_decimals(currency)
    shown = decimals[:least] + decimals[least:].rstrip("0")
    return f"{whole}.{shown}" if shown else whole


def money_of(amount: Decimal | None, currency: str | None, *, is_signed: bool = False) -> str:
    """Return an amount followed by its currency, if that is known."""
    text = money(amount, currency, is_signed=is_signed)
    return f"{text} {currency}" if currency and amount is not None else text


def measure_text(measure: str, amount: Decimal | None, currency: str | None, *, is_signed: bool = False) -> str:
    """Return an amount of a closed day's measure: order_count is a number of orders, not money."""
    if measure == "order_count" and amount is not None:
        return f"{amount:{'+' if is_signed else ''},.0f}"
    return money(amount, currency, is_signed=is_signed)
