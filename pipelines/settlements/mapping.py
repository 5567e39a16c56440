"""The mapping of a platform's files, in TOML: which column means what, its form, sign and zone.

    platform = "dashline"
    orders = { platform = ["dashline"] }
    [file]        names, encoding, delimiter, decimal, thousands, timezone
    [line]        statement, payout, store, order, order_date, ordered_at, date or period, type, count, currency,
                  settled_currency, exchange_rate
    [components]  each component and its column with a sign, or amount, column and values
    [check]       net, settled; opening, paid, closing
    [statements], [payouts]  a file with a row for each: names, statement, payout, date, currency, opening, paid
                  (of payouts: amount), closing
    [bank]        names, date, amount, fee, currency, text, payout

docs/BOOKS.md describes each key. A column that no key names is not kept.
"""

import csv
import datetime as dt
import fnmatch
import hashlib
import io
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.literals import unmarked
from pipelines.settings import SettingsError
from pipelines.settings.contradictions import is_zone

GROSS = ("items", "delivery", "tip", "promotion", "gross")
REFUNDS = ("adjustment", "refund")
COSTS = ("commission", "commission_tax", "marketing", "fee", "cash", "tax_collected", "tax_remitted")
COMPONENTS = (*GROSS, *REFUNDS, *COSTS)
PAYOUT = "payout"  # a row that is not a line: it says what was paid
ROW_KINDS = {"order": "order", "refund": "refund", "fee": "fee", "total": "total", "adds_to": "addition"}
_SHORT = re.compile(r"order_id % ([1-9][0-9]{0,8})", re.ASCII)


class MappingError(SettingsError):
    """A mapping is invalid; the message names the file and the key."""


class _MappingPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a mapping: a key that it lacks is an error."""


class Scope(_MappingPart, frozen=True):
    """Which orders the platform settles: those whose platform is one of these."""

    platform: list[str]


class TotalRow(_MappingPart, frozen=True):
    """By which words of a column total rows are known."""

    column: str
    values: list[str]


class Csv(_MappingPart, frozen=True):
    """How files are named and written."""

    names: str = "*.csv"
    encoding: str = ""
    delimiter: str = ","
    decimal: Literal[".", ","] = "."
    thousands: str = ""
    rows_above: int = 0
    total: str | list[str] | TotalRow = []

    def has_total(self, header: list[str], cells: list[str]) -> bool:
        """Whether a row is a total row: its first text, or that in a column, is one of the words."""
        stated = self.total
        words = [stated] if isinstance(stated, str) else stated.values if isinstance(stated, TotalRow) else stated
        texts = [each.strip() for each in cells]
        if isinstance(stated, TotalRow):
            texts = texts[header.index(stated.column) :][:1] if stated.column in header else []
        return bool(words) and next(filter(None, texts), "") in words


class StatementFiles(Csv, frozen=True):
    """The platform's files."""

    timezone: str = "store"


class PlainColumn(_MappingPart, frozen=True):
    """A column whose value is taken as it is."""

    column: str


class Text(PlainColumn, frozen=True):
    """A text: its first group if it has a pattern."""

    pattern: str = ""


class StoreColumn(PlainColumn, frozen=True, rename={"first_day": "from", "last_day": "to"}):
    """A store: our id, our name, or an id of the platform's that a file translates by day; and that file's columns."""

    file: str = ""
    platform_id: str = ""
    store_id: str = "store_id"
    first_day: str = "from"
    last_day: str = "to"


class OrderColumn(Text, frozen=True):
    """An order: its id, or with `digits` a short number that is unique only within a store and a day."""

    digits: str = ""
    within: list[str] = []


class Date(PlainColumn, frozen=True):
    """A day or a time, in the form of strptime."""

    form: str


class PeriodColumn(Date, frozen=True):
    """The first and the last day, in one column."""

    split: str


class Type(PlainColumn, frozen=True):
    """Which words of a column mean which kind of row."""

    order: list[str] = []
    refund: list[str] = []
    fee: list[str] = []
    total: list[str] = []
    payout: list[str] = []
    adds_to: list[str] = []  # a row that completes an order, such as a later tip


class RowColumns(_MappingPart, frozen=True):
    """What a row says beside its amounts."""

    currency: str | PlainColumn
    statement: str | Text | None = None
    payout: str | Text | None = None
    store: str | StoreColumn | None = None
    order: str | OrderColumn | None = None
    order_date: Date | None = None
    ordered_at: Date | None = None
    window_minutes: int = 60
    date: Date | None = None
    period: PeriodColumn | None = None
    type: str | Type | None = None
    count: str | None = None
    settled_currency: str | PlainColumn | None = None
    exchange_rate: str = ""


class StatedSums(_MappingPart, frozen=True):
    """Stated sums: of every row its net, and that in the currency that it is settled in; of a statement the others."""

    net: str | list[str] = ""
    settled: str | list[str] = ""
    opening: str | list[str] = ""
    paid: str | list[str] = ""
    closing: str | list[str] = ""

    @property
    def balances(self) -> dict[str, str | list[str]]:
        """The columns of the amounts that a statement starts from, pays and ends with."""
        stated = {"opening": self.opening, "paid": self.paid, "closing": self.closing}
        return {name: column for name, column in stated.items() if column}


class Payouts(Csv, frozen=True, kw_only=True):
    """The platform's file with a row for each payout, and for each statement that it is of, if it names them."""

    names: str
    date: Date
    timezone: str = "store"
    statement: str | Text | None = None
    payout: str | Text
    currency: str | PlainColumn | None = None
    amount: str | list[str]


class StatementHeads(Csv, frozen=True, kw_only=True):
    """The platform's file with a row for each statement: what it starts from, pays, in which payout, and leaves."""

    names: str
    date: Date
    timezone: str = "store"
    statement: str | Text
    payout: str | Text | None = None
    currency: str | PlainColumn | None = None
    opening: str | list[str] = ""
    paid: str | list[str]
    closing: str | list[str] = ""


class Bank(Csv, frozen=True, kw_only=True):
    """The columns of the bank's file; of camt.053 only `payout` counts. Without a format either is taken."""

    format: Literal["", "csv", "camt.053"] = ""
    payout: str
    date: Date | None = None
    amount: str = ""
    fee: str = ""
    currency: str | PlainColumn | None = None
    text: str = ""


class StoreSpan(msgspec.Struct, frozen=True):
    """From when to when a store of the platform's is ours."""

    store_id: int
    first_day: dt.date
    last_day: dt.date


class Mapping(_MappingPart, frozen=True):
    """A mapping as it stands in its file."""

    platform: str
    orders: Scope
    line: RowColumns
    components: dict[str, str | list[str] | dict[str, str]]
    file: StatementFiles = StatementFiles()
    check: StatedSums = StatedSums()
    bank: Bank | None = None
    due_days: int = 14
    statements: StatementHeads | None = None
    payouts: Payouts | None = None

    def heads_of(self, name: str) -> "tuple[str, Mapping] | None":
        """Return the key of a file with a row for each statement or payout, and its mapping; None for another file.

        Each row is one line: all that the lines of its statement come to, or of its payout.
        """
        part = next((one for one in (self.statements, self.payouts) if one and fnmatch.fnmatch(name, one.names)), None)
        if part is None:
            return None
        sums, net = StatedSums(), signed_columns(part.amount if isinstance(part, Payouts) else part.paid)
        if isinstance(part, StatementHeads):
            sums = StatedSums(opening=part.opening, paid=part.paid, closing=part.closing)
            net += signed_columns(part.closing)
            net += ({"+": "-"}.get(each[0], "+") + each[1:] for each in signed_columns(part.opening))
        currency = part.currency or self.line.currency
        line = RowColumns(currency, part.statement, part.payout, date=part.date, type="total")
        file = StatementFiles(**{key: getattr(part, key) for key in StatementFiles.__struct_fields__})
        key = "payout_ref" if isinstance(part, Payouts) else "statement_ref"
        return key, Mapping(self.platform, self.orders, line, {"gross": net}, file, sums)


class LoadedMapping(msgspec.Struct, frozen=True):
    """A mapping that was read: with its hash, that of the store file included, and the stores that the file lists."""

    mapping: Mapping
    sha256: str
    stores: dict[str, list[StoreSpan]]


def read_mapping(file: Path) -> LoadedMapping:
    """Read a mapping; raise MappingError naming the key that is missing, unknown or invalid."""
    try:
        content = file.read_bytes()
        mapping = msgspec.convert(tomllib.loads(unmarked(content).decode()), Mapping)
    except OSError as error:
        raise MappingError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MappingError(f"{file} is not valid TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise MappingError(f"{file}: {str(error).replace('`$.', '`')}") from None
    for key, complaint in _complaints(mapping):
        raise MappingError(f"{file}, {key}: {complaint}")
    digest = hashlib.sha256(content)
    stores: dict[str, list[StoreSpan]] = {}
    if isinstance(mapping.line.store, StoreColumn) and mapping.line.store.file:
        stores, more = _stores(file.parent / mapping.line.store.file, mapping.line.store, mapping.file.delimiter)
        digest.update(more)
    return LoadedMapping(mapping, digest.hexdigest(), stores)


def signed(stated: Any) -> list[tuple[int, str]]:
    """Return sign and column of a text such as "+items", or of several: + the platform owes us."""
    return [((-1 if text.startswith("-") else 1), text[1:]) for text in signed_columns(stated)]


def signed_columns(stated: str | list[str]) -> list[str]:
    """Return a list of columns with signs, whether the mapping has one or several."""
    return [text for text in ([stated] if isinstance(stated, str) else stated) if text]


def short_modulus(mapping: Mapping) -> int | None:
    """Return N where a short number is order_id % N; None if the column has whole ids."""
    order = mapping.line.order
    return int(_SHORT.fullmatch(order.digits)[1]) if isinstance(order, OrderColumn) and order.digits else None  # type: ignore[index]


def _complaints(mapping: Mapping) -> list[tuple[str, str]]:
    line, parts = mapping.line, mapping.components
    found = [("platform", "is empty")] if not re.fullmatch(r"[\w-]{1,64}", mapping.platform) else []
    if not mapping.orders.platform:
        found.append(("orders", "names no platform"))
    if mapping.due_days < 0 or line.window_minutes < 0:
        found.append(("due_days", "due_days and window_minutes must not be below 0"))
    zone = mapping.file.timezone
    is_zoned = zone == "store" or is_zone(zone)
    found += [] if is_zoned else [("[file] timezone", 'must be "store" or a zone such as Europe/Lisbon')]
    found += _signs("[file]", mapping.file) + (_signs("[bank]", mapping.bank) if mapping.bank else [])
    for key, part in {"[statements]": mapping.statements, "[payouts]": mapping.payouts}.items():
        if part and (heads := mapping.heads_of(part.names)):
            found += [(key, f"{of} {complaint}") for of, complaint in _complaints(heads[1])]
    if (line.date is None) == (line.period is None):
        found.append(("[line]", "needs either date or period"))
    if isinstance(line.type, str) and line.type not in ROW_KINDS:
        found.append(("[line] type", f"must be one of {', '.join(ROW_KINDS)}, or a column with words"))
    if isinstance(line.order, OrderColumn) and line.order.digits and not _SHORT.fullmatch(line.order.digits):
        found.append(("[line] order digits", 'must be like "order_id % 1000"'))
    if has_short_numbers(line) and (line.store is None or line.order_date is None):
        found.append(("[line] order digits", "short numbers need store and order_date: they recur"))
    for name, pattern in (
        ("[line] statement", getattr(line.statement, "pattern", "")),
        ("[line] payout", getattr(line.payout, "pattern", "")),
        ("[line] order", getattr(line.order, "pattern", "")),
        ("[bank] payout", mapping.bank.payout if mapping.bank else ""),
    ):
        found += [(f"{name} pattern", complaint) for complaint in _pattern(pattern)]
    return found + _components(parts) + _checks(line, mapping.check)


def _checks(line: RowColumns, check: StatedSums) -> list[tuple[str, str]]:
    stated = {"net": check.net, "settled": check.settled, **check.balances}
    found = [each for name, column in stated.items() if column for each in _sign(f"[check] {name}", column)]
    if bool(line.settled_currency) != bool(line.exchange_rate or check.settled):
        found.append(("[line] settled_currency", "needs exchange_rate or [check] settled, and they need it"))
    if check.balances and (not check.paid or line.settled_currency):
        found.append(("[check]", "opening and closing need paid, and none of them a settled_currency"))
    return found


def _signs(key: str, part: Csv) -> list[tuple[str, str]]:
    found = []
    if len(part.delimiter) != 1 or part.delimiter in '"\r\n':
        found.append((f"{key} delimiter", "must be one character"))
    if part.thousands in {part.decimal, *"+-()0123456789"} or len(part.thousands) > 1:
        found.append((f"{key} thousands", "must be one sign, and differ from decimal"))
    if part.rows_above < 0:
        found.append((f"{key} rows_above", "must not be below 0"))
    return found


def has_short_numbers(line: RowColumns) -> bool:
    """Whether the column of orders has short numbers."""
    return isinstance(line.order, OrderColumn) and bool(line.order.digits)


def _components(parts: dict[str, Any]) -> list[tuple[str, str]]:
    if "values" in parts:
        values, rest = parts["values"], set(parts) - {"amount", "column", "values"}
        if rest or not isinstance(values, dict) or not {"amount", "column"} <= set(parts):
            return [("[components]", "with values it has amount, column and values alone")]
        unknown = set(values.values()) - {*COMPONENTS, PAYOUT}
        found = _sign("[components] amount", parts["amount"])
    else:
        unknown = set(parts) - set(COMPONENTS)
        found = [each for name, column in parts.items() for each in _sign(f"[components] {name}", column)]
        if not parts:
            found.append(("[components]", "names no column"))
    return found + [(f"[components] {name}", f"is none of {', '.join(COMPONENTS)}") for name in sorted(unknown)]


def _sign(key: str, stated: Any) -> list[tuple[str, str]]:
    texts = stated if isinstance(stated, list) else [stated]
    is_valid = texts and all(isinstance(text, str) and text[:1] in {"+", "-"} and text[1:] for text in texts)
    return [] if is_valid else [(key, "must be + or - and the name of a column, or a list of such")]


def _pattern(pattern: str) -> list[str]:
    try:
        if pattern and re.compile(pattern).groups != 1:
            return ["must have one group"]
        first_groups(pattern, [])
    except (re.error, pa.ArrowInvalid) as error:
        return [f"is no regular expression of RE2: {error}"]
    return []


_BEFORE_GROUP = re.compile(r"((?:[^\\\[(]|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(\?)*)\((?!\?)", re.DOTALL)


def first_groups(pattern: str, texts: Sequence[str]) -> list[str | None]:
    """Return the text of a pattern's only group in each text, or None; by RE2, whose time grows with the text alone."""
    if not pattern:
        return [None] * len(texts)
    named = _BEFORE_GROUP.sub(r"\1(?P<found>", pattern, count=1)
    return [found and found["found"] for found in pc.extract_regex(pa.array(texts, pa.string()), named).to_pylist()]


def _stores(file: Path, stated: StoreColumn, delimiter: str) -> tuple[dict[str, list[StoreSpan]], bytes]:
    """Return which store of ours each of the platform's is on which days; spans of one must not overlap.

    The platform's id is in the column that the mapping names, else in platform_id, or one named as in its own file.
    """
    try:
        content = file.read_bytes()
        text = unmarked(content).decode()
        comma = delimiter if "," not in text.partition("\n")[0] else ","
        rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(text), strict=True, delimiter=comma))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise MappingError(f"{file}: cannot be read: {error}") from None
    names = [stated.platform_id] if stated.platform_id else ["platform_id", "platform id", stated.column]
    stores: dict[str, list[StoreSpan]] = {}
    for number, row in enumerate(rows, 2):
        try:
            first, last = stated.first_day, stated.last_day
            days = [row.get(name) if name in {"from", "to"} else row[name] for name in (first, last)]
            since = dt.date.fromisoformat(days[0]) if days[0] else dt.date.min
            until = dt.date.fromisoformat(days[1]) if days[1] else dt.date.max
            span = StoreSpan(int(row[stated.store_id]), since, until)
            spans = stores.setdefault(row[next(name for name in names if name in row)].strip(), [])
        except (KeyError, ValueError, AttributeError, TypeError, StopIteration):
            needed = ", ".join((names[0], stated.store_id, stated.first_day))
            raise MappingError(f"{file}, row {number}: needs {needed} and {stated.last_day} (days)") from None
        if any(span.first_day <= other.last_day and other.first_day <= span.last_day for other in spans):
            raise MappingError(f"{file}, row {number}: an earlier row has some of these days for the same store")
        spans.append(span)
    return stores, content
