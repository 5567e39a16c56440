"""The journal of a period: an entry for each store, day and currency of sales, statements and the bank's credits.

Sales are what each order's total rule in force counts; the residual of an accepted break goes to the class that it was
accepted with. Nothing else closes a gap: an order that cannot be booked stops its store's day, with the reason.
Statements are booked as the release matches them, on the days of their lines; breaks that were accepted with a class on
the days since which they are open. One whose period was exported before is posted on the first day from its own on that
was open when it was imported or accepted. `exporting.py` writes the entries.

A user's accounts and taxes, `accounts.toml`, and the forms in which other systems read a journal.

    receivable = "1200"                 # in [accounts]: `class[/platform[/store]] = account`, exactly
    "receivable/web/12" = "1211"
    "component:phone fee" = "4300"

    [[tax]]
    class = "subtotal_price"
    rate = 0.07
    code = "V7"

A part of an order has the first tax whose class, store, platform and days it meets. Tax is rounded for each order.
docs/DECISIONS.md names the source of the columns of each form. An amount is a debit, below zero a credit.
"""

import csv
import datetime as dt
import hashlib
import io
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pipelines.finance.closing import orders_to_close, sources
from pipelines.finance.released import BookPeriod, FinanceError, Released, finance_sql, open_release, period_holding
from pipelines.landing.shape import CHARGES, PRICES, TOTAL, currency_decimals
from pipelines.ledger import CLOSED_ORDERS, Closes, written_off
from pipelines.ledger.entries import order_key
from pipelines.literals import cell, literal, unmarked
from pipelines.settings import Settings, SettingsError
from pipelines.settlements.importing import effective_banks, effective_statements
from pipelines.warehouse.inputs.sources import create_sources
from pipelines.warehouse.release.manifest import DATABASE

TAX_IN_SALES, TAX_PAYABLE, TAX_BY_PLATFORM = "tax_in_sales", "tax_payable", "tax_by_platform"


class Tax(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate; `included`: the part has it, else it comes on top; reverse_charge: a code alone."""

    of_class: str = msgspec.field(name="class")
    rate: Decimal
    code: str = ""
    included: bool = True
    collected_by_platform: bool = False
    reverse_charge: bool = False
    store: int | None = None
    platform: str | None = None
    first_day: dt.date | None = msgspec.field(name="from", default=None)
    last_day: dt.date | None = msgspec.field(name="to", default=None)

    def is_of(self, part: str, platform: str | None, store_id: int | None, day: dt.date) -> bool:
        """Return whether a part of an order has this tax."""
        return (
            self.of_class == part
            and self.store in {None, store_id}
            and self.platform in {None, platform}
            and (self.first_day is None or self.first_day <= day)
            and (self.last_day is None or day <= self.last_day)
        )

    def of_any(self) -> "Tax":
        """Return the same tax, whatever it is of: parts of an order that have it are taxed together."""
        return msgspec.structs.replace(self, of_class="", store=None, platform=None, first_day=None, last_day=None)

    def on(self, amount: Decimal, digits: int) -> Decimal:
        """Return the tax on an amount, rounded half up to the digits of its currency."""
        if self.reverse_charge:
            return Decimal(0)
        return rounded(amount * self.rate / (1 + self.rate) if self.included else amount * self.rate, digits)


class Accounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Account by class, taxes, and the names that NetSuite and Xero want."""

    accounts: dict[str, str] = {}
    tax: tuple[Tax, ...] = ()
    subsidiary: str = ""  # NetSuite's
    locations: dict[str, str] = {}  # store → NetSuite's location, Xero's option
    tracking: str = ""  # Xero's category for these options
    no_tax: str = ""  # Xero's tax rate of lines without a tax code

    def account(self, part: str, platform: str | None, store_id: int | None) -> str | None:
        """Return the account of a class: the one of the store, else of the platform, else of the class."""
        of_platform = f"{part}/{platform or 'unknown'}"
        keys = (f"{of_platform}/{store_id}", of_platform, part)
        return next((self.accounts[key] for key in keys if self.accounts.get(key)), None)

    def tax_of(self, part: str, platform: str | None, store_id: int | None, day: dt.date) -> Tax | None:
        """Return the tax of a part of an order, if it has one."""
        return next((tax for tax in self.tax if tax.is_of(part, platform, store_id, day)), None)


def rounded(amount: Decimal, digits: int) -> Decimal:
    """Return an amount rounded half up, away from zero."""
    return amount.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def read_accounts(path: Path) -> tuple[Accounts, str]:
    """Return the accounts of a file and its SHA-256; raise SettingsError naming the key that is wrong."""
    try:
        content = path.read_bytes()
        found = msgspec.convert(tomllib.loads(unmarked(content).decode(), parse_float=Decimal), Accounts)
    except OSError as error:
        raise SettingsError(f"--map: {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(f"--map: {path}: {error}") from None
    if any(not 0 <= tax.rate < 1 for tax in found.tax):
        raise SettingsError(f"--map: {path}: [[tax]] rate must be a share such as 0.07")
    return found, hashlib.sha256(content).hexdigest()


_CSV = "entry_no line_no date period store_id currency account class debit credit tax_code memo source platform".split()
_NETSUITE = (
    "External ID,Date,Posting Period,Subsidiary,Currency,Exchange Rate,Memo,"
    "Account,Debit,Credit,Line Memo,Location,Class"
).split(",")
_XERO = (
    "Narration Date Description AccountCode TaxRate Amount TrackingName1 TrackingOption1 TrackingName2 TrackingOption2"
).split()
_NETSUITE_LINES, _XERO_LINES = 200, 300  # of an entry, of a file
_USUAL_DECIMALS, _TOO_MUCH = 2, 10**10
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_ACCOUNT = re.compile(r"(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+")
ExportRow = list[Any]


class Export(NamedTuple):
    """The entries of one export of a period; number 0 is a draft. `without` names the store-days that it lacks."""

    period: str
    export_format: str
    number: int
    without: tuple[str, ...]
    entries: "list[JournalEntry]"

    def memo(self, entry: "JournalEntry") -> str:
        """Return the memo of an entry's lines: whether it is a draft, and which store-days are left out."""
        lacks = f" (without {', '.join(self.without)})" if self.without else ""
        return ("DRAFT: " if self.number == 0 else "") + entry.memo + lacks


def files_of(export: Export, accounts: Accounts) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of an export; raise FinanceError if the form cannot hold it."""
    name = f"journal-{export.period}-{export.export_format}-{export.number or 'draft'}"
    if export.export_format == "beancount":
        yield f"{name}.beancount", _beancount(export).encode()
    elif export.export_format == "xero":
        for number, entries in enumerate(_xero_files(export), 1):
            yield f"{name}-{number}.csv", _table(_XERO, _xero(export._replace(entries=entries), accounts))
    else:
        head, rows = (_NETSUITE, _netsuite) if export.export_format == "netsuite" else (_CSV, _plain)
        yield f"{name}.csv", _table(head, rows(export, accounts))


EXPORT_FORMATS = ("csv", "netsuite", "xero", "beancount")


def _plain(export: Export, _: Accounts) -> Iterator[ExportRow]:
    for each in export.entries:
        source = "an open day" if each.source is None else f"ledger entry {each.source}"
        for number, line in enumerate(each.lines, 1):
            yield [
                *(each.number, number, each.day, export.period, each.place[1], each.currency, line.account),
                *(line.account_class, *_sides(each, line.amount), line.tax_code, export.memo(each), source),
                line.platform,
            ]


def _netsuite(export: Export, accounts: Accounts) -> Iterator[ExportRow]:
    month = _MONTH.fullmatch(export.period)
    period = f"{_MONTHS[int(month[2]) - 1]} {month[1]}" if month else export.period
    for each in export.entries:
        if len(each.lines) > _NETSUITE_LINES:
            advice = "give platforms one account"
            raise FinanceError(f"netsuite: {each.number} has more than {_NETSUITE_LINES} lines: {advice}")
        _check_decimals(each, "netsuite")
        for line in each.lines:
            yield [
                *(each.number, f"{each.day:%m/%d/%Y}", period, accounts.subsidiary, each.currency, ""),
                *(export.memo(each), line.account, *_sides(each, line.amount)),
                *(_described(line), accounts.locations.get(str(each.place[1]), ""), ""),
            ]


def _xero(export: Export, accounts: Accounts) -> Iterator[ExportRow]:
    for each in export.entries:
        _check_decimals(each, "xero")
        if not accounts.no_tax:
            raise FinanceError("xero: each line needs a tax rate: add no_tax, the name of that without tax, to --map")
        option = accounts.locations.get(str(each.place[1]), "") if accounts.tracking else ""
        tracked = [accounts.tracking if option else "", option, "", ""]
        for line in each.lines:
            yield [
                *(f"{each.number} {export.memo(each)}", f"{each.day:%d/%m/%Y}", _described(line), line.account),
                *(line.tax_code or accounts.no_tax, _amount(each, line.amount), *tracked),
            ]


def _xero_files(export: Export) -> "Iterator[list[JournalEntry]]":
    """Yield the entries of each file: whole ones, of the one currency in which Xero takes journals."""
    if len({each.currency for each in export.entries}) > 1:
        raise FinanceError("xero: the period has more than one currency, and a manual journal has none: use csv")
    held: list[JournalEntry] = []
    for each in export.entries:
        if held and sum(len(one.lines) for one in [*held, each]) > _XERO_LINES:
            yield held
            held = []
        held.append(each)
    yield held


def _beancount(export: Export) -> str:
    lines = [f"; Journal of {export.period}. Open its accounts and include this file in your ledger.", ""]
    for each in export.entries:
        flag = "*" if export.number else "!"
        lines.append(f'{each.day} {flag} "Store {each.store}" "{export.memo(each)}" ^{each.number}')
        for line in each.lines:
            if not _ACCOUNT.fullmatch(line.account):
                raise FinanceError(f"beancount: {line.account!r} is not an account such as Income:Sales:Web: see --map")
            lines.append(f"  {line.account}  {_amount(each, line.amount)} {each.currency}")
            lines += [f'    tax_code: "{line.tax_code}"'] if line.tax_code else []
        lines.append("")
    return "\n".join(lines)


def _described(line: Any) -> str:
    return f"{line.account_class}, {line.platform or 'platform unknown'}"


def _amount(entry: "JournalEntry", amount: Decimal) -> str:
    return f"{amount:.{currency_decimals(entry.currency)}f}"


def _sides(entry: "JournalEntry", amount: Decimal) -> tuple[str, str]:
    return (_amount(entry, amount), "") if amount > 0 else ("", _amount(entry, -amount))


def _check_decimals(entry: "JournalEntry", export_format: str) -> None:
    if currency_decimals(entry.currency) > _USUAL_DECIMALS or any(abs(one.amount) >= _TOO_MUCH for one in entry.lines):
        limits = "more than ten digits before or two after the point"
        raise FinanceError(f"{export_format}: {entry.number} has {limits}: use csv")


def _table(head: Iterable[str], rows: Iterable[ExportRow]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows([cell("" if value is None else str(value)) for value in row] for row in rows)
    return text.getvalue().encode()


JOURNAL_ACT = "journal"
RECEIVABLE, ROUNDING, COUNTED = "receivable", "rounding", "counted"
NO_STORE = "none"
# kind of an entry that is booked as the release matches → its memo, before the platform of its file
AS_MATCHED = {
    "settlement": "Statement of {}",
    "bank": "Payouts at the bank of {}",
    "writeoff": "Accepted breaks of settlements",
}
Row = dict[str, Any]
Place = tuple[dt.date, int | None]  # a store's day
_Key = tuple[str, str | None, str]  # class, platform, tax code
_Amounts = defaultdict[_Key, Decimal]
_Sums = defaultdict[tuple[Place, str | None, str], Decimal]  # by place, currency and measure
# class of an account → measure of the books, and how often a debit of the class counts in it
_MEASURES = {RECEIVABLE: (TOTAL, 1)} | {each.name: (each.name, -each.sign) for each in CHARGES}


class JournalLine(NamedTuple):
    """One line of an entry; `amount` is a debit, below zero a credit."""

    account: str
    account_class: str
    platform: str | None
    tax_code: str
    amount: Decimal


@dataclass(frozen=True)
class JournalEntry:
    """One entry, which balances, on a day of its period: of the orders of a store's day, `place`.

    `source` is the number of the ledger entry that it books; None: an open day.
    """

    number: str
    day: dt.date
    place: Place
    currency: str
    memo: str
    source: int | None
    lines: tuple[JournalLine, ...]

    @property
    def store(self) -> str:
        """Its store."""
        return _name(self.place[1])

    @property
    def kind(self) -> str:
        """sales, restatement, reversal, or one of AS_MATCHED."""
        return self.number.rpartition(f"-S{self.store}-")[2].partition("-")[0]


class StoppedDay(NamedTuple):
    """Why a store's day cannot be booked, by its first such order; None: a statement or a bank's file."""

    day: dt.date
    store_id: int | None
    order_id: int | None
    reason: str


@dataclass
class Journal:
    """The entries of a period; the stops of store-days; differences to the books; store-days that are still open.

    `outside` has the amounts that orders state and no entry has, because their totals do not count them; `settled` the
    entries of statements and bank files of all periods, whichever ledger entries have them.
    """

    period: BookPeriod
    entries: list[JournalEntry] = field(default_factory=list)
    stops: dict[Place, StoppedDay] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    open_days: set[Place] = field(default_factory=set)
    outside: dict[tuple[str | None, str], Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    settled: dict[tuple[Any, ...], JournalEntry] = field(default_factory=dict)
    # total_price by store-day and currency, of its orders and restatements, also where they are stopped
    totals: dict[tuple[Place, str | None], Decimal] = field(default_factory=dict)


class _Unbookable(Exception):
    """An order cannot be booked; the message says why."""


class _State(NamedTuple):
    """An order as it was booked at one time."""

    order_id: int
    total: Decimal | None
    parts: dict[str, Decimal] | None
    residual: Decimal | None
    content: str | None


def journal(
    settings: Settings, period: BookPeriod, accounts: Accounts | None = None, *, draft: bool = False
) -> Journal:
    """Return the journal of a period; without accounts each class is its own. A draft has the open days, too."""
    with open_release(settings) as release, sources(settings) as con:
        create_sources(con, settings, "raw.bank_payouts", "raw.break_decisions")
        con.execute(f"attach {literal(release.path / DATABASE)} as release (read_only)")
        con.execute("use release")
        return _Book(settings, replace(release, con=con), period, accounts).made(draft=draft)


class _Book:
    """Books the orders, restatements, statements and credits of one period."""

    def __init__(self, settings: Settings, release: Released, period: BookPeriod, accounts: Accounts | None) -> None:
        entries = self._entries = list(release.ledger.entries())
        self._settings = settings
        self._release, self._con, self._period, self._accounts = release, release.con, period, accounts
        self._closes, self._written_off = Closes(entries), written_off(entries)
        self._done = Journal(period)
        self._first_close: dict[Place, int] = {}
        self._closes_before: dict[int, Closes] = {}
        for entry in entries:
            for day in entry.body["days"] if entry.act == "closed" else ():
                for store_id in day["stores"] or [None]:
                    self._first_close.setdefault((dt.date.fromisoformat(day["day"]), store_id), entry.no)
        self._stated: _Sums = defaultdict(Decimal)  # by orders and restatements of the ledger
        self._uncounted: _Sums = defaultdict(Decimal)  # the part of it that totals do not count

    def made(self, *, draft: bool) -> Journal:
        """Return the journal."""
        unclosed = {day: self._closes.unclosed_stores(day, None) for day in self._period.days}
        open_orders = orders_to_close(self._release, self._closes, unclosed)
        rows = open_orders.select(["business_date", "store_id", "sale_class"]).to_pylist()
        counted = (row for row in rows if row["sale_class"] == COUNTED)
        self._done.open_days = {(row["business_date"], row["store_id"]) for row in counted}
        self._con.register("drafted", open_orders if draft else CLOSED_ORDERS.empty_table())
        self._sales()
        self._restatements()
        self._settlements()
        made = [each for each in self._done.entries if each.lines and each.place not in self._done.stops]
        self._done.entries = sorted(made, key=lambda each: (each.day, each.number))
        for (place, currency, measure), amount in self._uncounted.items():
            if place not in self._done.stops:
                self._done.outside[currency, measure] += amount
        self._done.totals = {key[:2]: amount for key, amount in self._stated.items() if key[2] == TOTAL}
        self._done.differences += [*unbalanced(self._done.entries), *self._unlike_the_books()]
        return self._done

    def _sales(self) -> None:
        days = {close.day for close in self._closes.rows() if close.period == self._period.name}
        days |= {*self._period.days}
        periods = {(close.close_entry_no, close.day): close.period for close in self._closes.rows()}
        found = self._con.execute(finance_sql("journal_orders"), {"first_day": min(days), "last_day": max(days)})
        sums: dict[tuple[dt.date, int | None, str, int | None], _Amounts] = {}
        for row in found.to_arrow_table().to_pylist():
            day, store_id, close_no = row["business_date"], row["store_id"], row["close_entry_no"]
            if close_no is not None and periods.get((close_no, day)) != self._period.name:
                continue
            booked = self._amounts(_state(row, row[TOTAL]), row, (day, store_id))
            _add_up(sums.setdefault((day, store_id, row["currency"], close_no), defaultdict(Decimal)), booked)
            if close_no is not None:
                self._count((day, store_id), row["currency"], row, booked)
        for (day, store_id, currency, close_no), amounts in sums.items():
            closes = [self._first_close[key] for key in ((day, store_id), (day, None)) if key in self._first_close]
            later = f"-L{close_no}" if close_no is not None and close_no != min(closes) else ""
            memo = f"Sales of {day}, store {_name(store_id)}"
            self._add(f"sales-{currency}{later}", (day, store_id), currency, memo, close_no, amounts)

    def _restatements(self) -> None:
        values = {"period": self._period.name}
        held = "where posted_period = $period or reversed_period = $period"
        wanted = f"select order_id, close_entry_no from memory.raw.restated {held}"
        self._con.execute(f"create temp table wanted as {wanted}", values)
        restated = "from memory.raw.restated semi join wanted using (order_id)"
        restated += f" where sale_class = '{COUNTED}' order by restatement_no"
        closed = "from memory.raw.closed_orders semi join wanted using (order_id, close_entry_no)"
        closed += f" where sale_class = '{COUNTED}'"
        before: dict[tuple[Any, ...], _State] = {
            _restated_place(row): _state(row, row[TOTAL])
            for row in self._con.execute(closed).to_arrow_table().to_pylist()
        }
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self._con.execute(restated).to_arrow_table().to_pylist():
            groups.setdefault((row["entry_no"], *_restated_place(row)), []).append(row)
        for key, rows in groups.items():
            changes = {row["measure"]: row["restatement_amount"] for row in rows}
            was = before.get(key[1:]) or _State(rows[0]["order_id"], Decimal(0), {}, Decimal(0), None)
            old = before.get((*key[1:-1], None))
            if key[1:] not in before and old and old.parts is None:  # its close recorded neither platform nor parts
                was = old
            total = None if was.total is None else was.total + changes.get(TOTAL, 0)
            now = before[key[1:]] = _state(rows[0], total)
            for column, sign in (("posted_period", 1), ("reversed_period", -1)):
                if rows[0][column] == self._period.name:
                    self._restatement(rows[0], changes, was, now, sign)

    def _restatement(self, row: Row, changes: dict[str, Decimal], was: _State, now: _State, sign: int) -> None:
        place: Place = row["business_date"], row["store_id"]
        if not changes.keys() & {*PRICES}:
            return  # its lines alone
        signed: _Amounts = defaultdict(Decimal)
        _add_up(signed, self._amounts(now, row, place), sign)
        _add_up(signed, self._amounts(was, row, place), -sign)
        number = row["restatement_no"]
        kind, what = ("restatement", "Restatement") if sign > 0 else ("reversal", "Reversal of restatement")
        memo = f"{what} {number} of order {row['order_id']}, closed day {place[0]}, {row['cause']}"
        self._count(place, row["currency"], {name: sign * amount for name, amount in changes.items()}, signed)
        self._add(f"{kind}-R{number}", place, row["currency"], memo, row["entry_no"], signed)

    def _settlements(self) -> None:
        statements = effective_statements(self._entries)
        sources_of = {each.entry.no: each.platform for each in statements}
        known = {no for (no,) in self._con.execute("select entry_no from mart.settlement_statements").fetchall()}
        if sources_of.keys() != known:
            changed = ", ".join(map(str, sorted(sources_of.keys() ^ known)))
            self._done.differences.append(
                f"statements of ledger entry {changed} were imported or superseded since: run `ordermart build`"
            )
            return
        off = defaultdict[tuple[int, str], Decimal](Decimal)
        for statement in statements:
            for currency, stated in statement.amounts.items():
                off[statement.entry.no, currency] += Decimal(stated)
        sums = "select entry_no, currency, sum(amount) from mart.settlement_lines group by all"
        for no, currency, amount in self._con.execute(sums).fetchall():
            off[no, currency] -= amount
        self._done.differences += [
            f"statements of ledger entry {no} and mart.settlement_lines differ by {amount} {currency}: report this"
            for (no, currency), amount in off.items()
            if amount
        ]
        sources_of |= {each.no: each.body["platform"] for each in effective_banks(self._entries)}
        groups: dict[tuple[Any, ...], dict[int, _Amounts]] = {}
        for kind, no, *at, platform, part, amount in self._con.execute(finance_sql("journal_settlements")).fetchall():
            of_group = groups.setdefault((kind, sources_of.get(no), *at), {})
            of_group.setdefault(no, defaultdict(Decimal))[part, platform, ""] = amount
        for (kind, platform, day, store_id, currency), of_entries in groups.items():
            place, no, amounts = (day, store_id), max(of_entries), defaultdict[_Key, Decimal](Decimal)
            for each in of_entries.values():
                _add_up(amounts, each)
            posted = self._posting_day(no, day, store_id)
            period = period_holding(self._settings, posted)
            memo = f"{AS_MATCHED[kind].format(platform)}, {day}, store {_name(store_id)}, ledger entry {no}"
            made = self._entry(f"{kind}-{currency}-L{no}", place, currency, memo, no, amounts, posted, period)
            self._done.settled[kind, platform, place, currency] = made
            if period.name == self._period.name:
                try:
                    self._check_accounts(amounts, store_id)
                except _Unbookable as reason:
                    self._done.stops.setdefault(place, StoppedDay(*place, None, f"{reason} (ledger entry {no})"))
                self._done.entries.append(made)

    def _posting_day(self, no: int, day: dt.date, store_id: int | None) -> dt.date:
        """Return on which day ledger entry `no` posts: on this one, or the first open if its period was exported."""
        before = self._entries[: no - 1]
        name = period_holding(self._settings, day).name
        if any(each.act == JOURNAL_ACT and each.body["period"] == name for each in before):
            closes = self._closes_before.get(no) or self._closes_before.setdefault(no, Closes(before))
            while closes.is_any(day, store_id):
                day += dt.timedelta(days=1)
        return day

    def _count(self, place: Place, currency: str | None, stated: Mapping[str, Any], booked: _Amounts) -> None:
        """Add the amounts that a row of the ledger states, and those among them that are not booked."""
        counted: dict[str, Decimal] = defaultdict(Decimal)
        for (of_class, _, _), amount in booked.items():
            if of_class in _MEASURES:
                measure, sign = _MEASURES[of_class]
                counted[measure] += sign * amount
        for name in PRICES:
            amount = stated.get(name) or Decimal(0)
            self._stated[place, currency, name] += amount
            self._uncounted[place, currency, name] += amount - counted[name]

    def _amounts(self, state: _State, row: Row, place: Place) -> _Amounts:
        """Return what an order adds to each class; nothing, and a stop of its day, if it cannot be booked."""
        try:
            if any(name in row and abs(row[name] or 0) != abs(part) for name, part in (state.parts or {}).items()):
                raise _Unbookable("a part of its total is not the amount that it states")
            return self._lines(state, row["platform"], row["currency"], place)
        except _Unbookable as reason:
            self._done.stops.setdefault(place, StoppedDay(*place, state.order_id, str(reason)))
            return defaultdict(Decimal)

    def _lines(self, state: _State, platform: str | None, currency: str | None, place: Place) -> _Amounts:
        day, store_id = place
        if not currency:
            raise _Unbookable("its currency is unknown")
        decimals = currency_decimals(currency)
        sums: _Amounts = defaultdict(Decimal, {(RECEIVABLE, platform, ""): state.total or Decimal(0)})
        taxed: dict[Tax, Decimal] = defaultdict(Decimal)
        for part, amount in self._parts(state, decimals):
            tax = self._accounts.tax_of(part, platform, store_id, day) if self._accounts else None
            sums[part, platform, tax.code if tax else ""] -= amount
            if tax:
                taxed[tax.of_any()] += amount
        for tax, amount in taxed.items():  # rounded once, whatever the number of parts
            owed = tax.on(amount, decimals)
            sums[TAX_IN_SALES, platform, tax.code] += owed
            sums[TAX_BY_PLATFORM if tax.collected_by_platform else TAX_PAYABLE, platform, tax.code] -= owed
        self._check_accounts(sums, store_id)
        return sums

    def _check_accounts(self, sums: _Amounts, store_id: int | None) -> None:
        for key, amount in sums.items():
            if amount and self._account(key, store_id) is None:
                raise _Unbookable(f"class {key[0]!r} of platform {key[1] or 'unknown'} has no account")

    def _parts(self, state: _State, decimals: int) -> Iterator[tuple[str, Decimal]]:
        """Yield what a total is made of, rounded: parts of more decimals, whose exact sum it is, leave a rounding."""
        if state.total is None or state.parts is None or state.residual is None:
            raise _Unbookable("an amount of its total is not known, or no rule is in force for it")
        if sum(state.parts.values()) + state.residual != state.total:
            raise _Unbookable("its parts do not add up to its total")
        if rounded(state.total, decimals) != state.total:
            raise _Unbookable("its total has more decimals than its currency")
        parts, rest = [*state.parts.items()], state.total
        if state.residual:
            key = order_key(state.order_id), state.content or ""
            if key not in self._written_off:
                raise _Unbookable("its break is open")
            if not (of_class := self._written_off[key]):
                raise _Unbookable("its break was accepted without --account-class")
            parts.append((of_class, state.residual))
        for part, amount in parts:
            rest -= rounded(amount, decimals)
            yield part, rounded(amount, decimals)
        yield ROUNDING, rest

    def _account(self, key: _Key, store_id: int | None) -> str | None:
        return self._accounts.account(key[0], key[1], store_id) if self._accounts else key[0]

    def _add(self, kind: str, place: Place, currency: str, memo: str, source: int | None, amounts: _Amounts) -> None:
        made = self._entry(kind, place, currency, memo, source, amounts, place[0], self._period)
        self._done.entries.append(made)

    def _entry(
        self,
        kind: str,
        place: Place,
        currency: str,
        memo: str,
        source: int | None,
        amounts: _Amounts,
        day: dt.date,
        period: BookPeriod,
    ) -> JournalEntry:
        lines = tuple(
            JournalLine(self._account(key, place[1]) or "", *key, amount)
            for key, amount in sorted(amounts.items(), key=lambda each: tuple(map(str, each[0])))
            if amount
        )
        inside = min(max(day, period.first_day), period.last_day)
        number = f"OM-{period.name}-{place[0]:%Y%m%d}-S{_name(place[1])}-{kind}"
        return JournalEntry(number, inside, place, currency, memo, source, lines)

    def _unlike_the_books(self) -> Iterator[str]:
        """Yield a sentence for each amount by store, currency and class that differs from mart.period_books."""
        query = "select store_id, currency, measure, total_amount from mart.period_books"
        query += f" where period = $period and sale_class = '{COUNTED}'"
        rows = self._con.execute(query, {"period": self._period.name}).fetchall()
        books = {row[:3]: row[3] for row in rows}
        found: dict[tuple[int | None, str | None, str], Decimal] = defaultdict(Decimal)
        for each in self._done.entries:
            for line in each.lines if each.source is not None and each.kind not in AS_MATCHED else ():
                if line.account_class in _MEASURES:
                    measure, sign = _MEASURES[line.account_class]
                    found[each.place[1], each.currency, measure] += sign * line.amount
        for (place, currency, measure), amount in self._stated.items():
            is_left_out = place in self._done.stops
            found[place[1], currency, measure] += amount if is_left_out else self._uncounted[place, currency, measure]
        for key in sorted({*found, *books}, key=str):
            store_id, currency, measure = key
            if measure in PRICES and found[key] != books.get(key, 0):
                yield (
                    f"{measure} of store {_name(store_id)}: {found[key]} {currency} in entries, {books.get(key, 0)} in "
                    "mart.period_books: run `ordermart build` if days were closed, reopened or posted since"
                )


def unbalanced(entries: Iterable[JournalEntry]) -> Iterator[str]:
    """Yield a sentence for each entry whose debits are not its credits."""
    for each in entries:
        if off := sum((line.amount for line in each.lines), Decimal(0)):
            yield f"{each.number} does not balance: {off} {each.currency}"


def _state(row: Row, total: Decimal | None) -> _State:
    parts: dict[str, Decimal] | None = None
    if row["total_parts"] is not None:
        parts = {}
        for part, amount in zip(row["total_parts"], row["total_part_amounts"], strict=True):
            parts[part] = parts.get(part, Decimal(0)) + amount
    return _State(row["order_id"], total, parts, row["total_residual"], row["break_content"])


def _add_up(sums: _Amounts, amounts: _Amounts, sign: int = 1) -> None:
    for key, amount in amounts.items():
        sums[key] += sign * amount


def _restated_place(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("close_entry_no order_id store_id business_date currency platform").split())


def _name(store_id: int | None) -> str:
    return NO_STORE if store_id is None else str(store_id)
