"""Business days: of a period (a month, or a fiscal period of [closing] periods_file), or selected for a report."""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pipelines.ledger import Closes
    from pipelines.settings import Settings

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
    day = _day(text, f"{text!r} is not a valid day: use 2026-10-31")
    return BookPeriod(day, day)


def period_or_day(settings: Settings, name: str) -> BookPeriod:
    """Return the period of that name, or the day if it is written as one and the file does not list it."""
    if _WRITTEN_DAY.fullmatch(name) and name not in fiscal_periods(settings):
        return one_day(name)
    return period_of(settings, name)


def period_of(settings: Settings, name: str) -> BookPeriod:
    """Return the period of that name: from the file if listed there, else a calendar month.

    Raise SettingsError if it is neither, or if the file cannot be read.
    """
    listed = fiscal_periods(settings)
    if name in listed:
        return listed[name]
    if not _MONTH.fullmatch(name):
        where = f"in {settings.closing.periods_file}" if listed else "in [closing] periods_file, which is not set"
        raise SettingsError(f"{name!r} is not a valid period: use a month such as 2026-10, or a name listed {where}")
    return _month_of(dt.date.fromisoformat(f"{name}-01"))


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
    return [
        (before, after)
        for before, after in itertools.pairwise(listed)
        if after.first_day > before.last_day + dt.timedelta(days=1)
    ]


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
        with path.open(encoding="utf-8-sig", newline="") as file:
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
    try:
        return dt.datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        raise SettingsError(complaint) from None


@dataclass(frozen=True)
class Selection:
    """Orders of business days from `since` to `until`, inclusive, and of one store; None means no limit."""

    since: dt.date | None = None
    until: dt.date | None = None
    store_id: int | None = None

    @classmethod
    def between(cls, since: str, until: str, store_id: int | None = None) -> Selection:
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
        days = (
            f"business days {since} to {until}"
            if since and until
            else f"business days from {since}"
            if since
            else f"business days to {until}"
            if until
            else "all business days"
        )
        return f"{days}, " + ("all stores" if self.store_id is None else f"store {self.store_id}")


def _option_day(option: str, text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"{option}: {text!r} is not a valid day; use 2026-10-31") from None
