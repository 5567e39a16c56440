"""A user's accounts and taxes, `accounts.toml`, and the forms in which other systems read a journal.

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

from __future__ import annotations

import csv
import datetime as dt  # noqa: TC003 - msgspec reads the annotations
import hashlib
import io
import re
import tomllib
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipelines.finance.released import FinanceError, digits
from pipelines.literals import cell
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.finance.journal import JournalEntry

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

    def of_any(self) -> Tax:
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
        found = msgspec.convert(tomllib.loads(content.decode(), parse_float=Decimal), Accounts)
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
Row = list[Any]


class Export(NamedTuple):
    """The entries of one export of a period; number 0 is a draft. `without` names the store-days that it lacks."""

    period: str
    form: str
    number: int
    without: tuple[str, ...]
    entries: list[JournalEntry]

    def memo(self, entry: JournalEntry) -> str:
        """Return the memo of an entry's lines: whether it is a draft, and which store-days are left out."""
        lacks = f" (without {', '.join(self.without)})" if self.without else ""
        return ("DRAFT: " if self.number == 0 else "") + entry.memo + lacks


def files_of(export: Export, accounts: Accounts) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of an export; raise FinanceError if the form cannot hold it."""
    name = f"journal-{export.period}-{export.form}-{export.number or 'draft'}"
    if export.form == "beancount":
        yield f"{name}.beancount", _beancount(export).encode()
    elif export.form == "xero":
        for number, entries in enumerate(_xero_files(export), 1):
            yield f"{name}-{number}.csv", _table(_XERO, _xero(export._replace(entries=entries), accounts))
    else:
        head, rows = (_NETSUITE, _netsuite) if export.form == "netsuite" else (_CSV, _plain)
        yield f"{name}.csv", _table(head, rows(export, accounts))


FORMS = ("csv", "netsuite", "xero", "beancount")


def _plain(export: Export, _: Accounts) -> Iterator[Row]:
    for each in export.entries:
        source = "an open day" if each.source is None else f"ledger entry {each.source}"
        for number, line in enumerate(each.lines, 1):
            yield [
                *(each.number, number, each.day, export.period, each.place[1], each.currency, line.account),
                *(line.account_class, *_sides(each, line.amount), line.tax_code, export.memo(each), source),
                line.platform,
            ]


def _netsuite(export: Export, accounts: Accounts) -> Iterator[Row]:
    month = _MONTH.fullmatch(export.period)
    period = f"{_MONTHS[int(month[2]) - 1]} {month[1]}" if month else export.period
    for each in export.entries:
        if len(each.lines) > _NETSUITE_LINES:
            raise FinanceError(
                f"netsuite: {each.number} has more than {_NETSUITE_LINES} lines: give platforms one account"
            )
        _check_decimals(each, "netsuite")
        for line in each.lines:
            yield [
                *(each.number, f"{each.day:%m/%d/%Y}", period, accounts.subsidiary, each.currency, ""),
                *(export.memo(each), line.account, *_sides(each, line.amount)),
                *(_described(line), accounts.locations.get(str(each.place[1]), ""), ""),
            ]


def _xero(export: Export, accounts: Accounts) -> Iterator[Row]:
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


def _xero_files(export: Export) -> Iterator[list[JournalEntry]]:
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
                raise FinanceError(f"beancount: {line.account!r} is no account such as Income:Sales:Web: see --map")
            lines.append(f"  {line.account}  {_amount(each, line.amount)} {each.currency}")
            lines += [f'    tax_code: "{line.tax_code}"'] if line.tax_code else []
        lines.append("")
    return "\n".join(lines)


def _described(line: Any) -> str:
    return f"{line.account_class}, {line.platform or 'platform unknown'}"


def _amount(entry: JournalEntry, amount: Decimal) -> str:
    return f"{amount:.{digits(entry.currency)}f}"


def _sides(entry: JournalEntry, amount: Decimal) -> tuple[str, str]:
    return (_amount(entry, amount), "") if amount > 0 else ("", _amount(entry, -amount))


def _check_decimals(entry: JournalEntry, form: str) -> None:
    if digits(entry.currency) > _USUAL_DECIMALS or any(abs(line.amount) >= _TOO_MUCH for line in entry.lines):
        raise FinanceError(f"{form}: {entry.number} has more than ten digits before or two after the point: use csv")


def _table(head: Iterable[str], rows: Iterable[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows([cell("" if value is None else str(value)) for value in row] for row in rows)
    return text.getvalue().encode()
