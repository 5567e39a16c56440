"""Read a platform's file by its mapping: neutral lines, one for each source row and component, + what it owes us.

Every value is read as text. A cell that does not have the form that the mapping states, a word that it does not list,
or a row that does not add up refuses the whole file, by row and column. Columns that the mapping does not name are
dropped. Rows are never de-duplicated: a repeat may be a double settlement.
"""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import io
import re
import unicodedata
import zoneinfo
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from pipelines.ledger import LedgerError
from pipelines.literals import encoding_of
from pipelines.settlements.mapping import (
    GROSS,
    KINDS,
    REFUNDS,
    Column,
    Order,
    Store,
    Text,
    first_groups,
    has_short_numbers,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.settlements.mapping import Date, Mapping, Read

BALANCES = ("opening", "paid", "closing")
_TEXT, _DAY, _NUMBER, _AMOUNT = pa.string(), pa.date32(), pa.int64(), pa.decimal128(38, 4)
_INSTANT = pa.timestamp("us", tz="UTC")
LINES = pa.schema(
    [
        ("source_row", _NUMBER),  # of the file: the header is row 1
        ("settlement_no", _NUMBER),  # rows with the same one settle one order once
        ("kind", _TEXT),
        *((name, _TEXT) for name in ("statement_ref", "payout_ref", "store_ref")),
        ("store_id", _NUMBER),
        ("order_ref", _TEXT),
        *((name, _NUMBER) for name in ("order_id", "short_no")),
        *((name, _DAY) for name in ("line_date", "order_date", "period_from", "period_to")),
        *((name, _INSTANT) for name in ("line_at", "ordered_at")),  # where the mapping says the zone
        ("ordered_at_local", pa.timestamp("us")),  # where it says that of the store
        ("order_count", _NUMBER),
        ("component", _TEXT),
        ("currency", _TEXT),
        ("amount", _AMOUNT),
        ("settled_currency", _TEXT),  # that of the payout: `currency` if the row is not converted
        ("exchange_rate", pa.decimal128(38, 8)),
        ("settled_amount", _AMOUNT),  # of a converted row the whole row's, on its first line
        *((name, _AMOUNT) for name in BALANCES),  # of the statement, where the row states them
    ]
)
_STATEMENT = LINES.get_field_index("statement_ref")
_REF = re.compile(r"[0-9A-Za-z][0-9A-Za-z ._/#:+-]{0,99}", re.ASCII)
_ID = re.compile(r"[0-9]{1,18}", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
_WHOLE = "[0-9]{1,18}"
_MOST_NAME = 200
_MILLE = 3
_MONEY, _RATE = 4, 8  # decimals at most
_CENT, _HALF = Decimal("0.01"), Decimal("0.005")  # what rounding an amount changes at most


class SettlementError(LedgerError):
    """A file is refused; the message names row and column, never a value."""


class Records(NamedTuple):
    """The rows of a CSV file: its header, and each row with its number."""

    header: list[str]
    rows: list[tuple[int, list[str]]]


class Where(NamedTuple):
    """A cell, for messages."""

    name: str
    row: int
    column: str

    def refused(self, complaint: str) -> SettlementError:
        """Return the error that refuses the file because of this cell."""
        return SettlementError(f"{self.name}, row {self.row}, column {self.column}: {complaint}")


def sha256_of(content: bytes) -> str:
    """Return the hash by which a file is known."""
    return hashlib.sha256(content).hexdigest()


def records_of(content: bytes, name: str, encoding: str, delimiter: str) -> Records:
    """Return header and rows of a CSV file, all text; rows without any text are left out."""
    encoding = encoding_of(content, encoding or "utf-8")
    try:
        text = content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise SettlementError(f"{name} is not {encoding}: state its encoding in the mapping") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number, rows = 1, []
    try:
        header = [each.strip() for each in next(reader, [])]
        for number, cells in enumerate(reader, 2):
            if any(map(str.strip, cells)):
                if len(cells) != len(header):
                    raise SettlementError(f"{name}, row {number}: {len(cells)} cells, the header has {len(header)}")
                rows.append((number, cells))
    except csv.Error as error:
        raise SettlementError(f"{name}, after row {number}: not valid CSV: {error}") from None
    if not rows:
        raise SettlementError(f"{name} has no rows")
    return Records(header, rows)


def place_of(records: Records, column: str, name: str) -> int:
    """Return the place of a column in the header."""
    if records.header.count(column) != 1:
        found = "has no" if column not in records.header else "has more than one"
        raise SettlementError(f"{name}, row 1: {found} column {column}, which the mapping names")
    return records.header.index(column)


def amount_reader(decimal: str, thousands: str, decimals: int = _MONEY) -> Callable[[str, Where], Decimal | None]:
    """Return a function that reads an amount exactly; None if the cell is empty.

    1.234 is refused unless the mapping states both signs: it is one of two amounts. A rate is only one.
    """
    groups = f"[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|{_WHOLE}" if thousands else _WHOLE
    form = re.compile(rf"(-?)({groups})(?:{re.escape(decimal)}([0-9]{{1,{decimals}}}))?", re.ASCII)
    known: dict[str, Decimal | None] = {"": None}

    def read(text: str, where: Where) -> Decimal | None:
        if text in known:
            return known[text]
        plain = text.strip().replace("\u2212", "-")
        if plain.startswith("(") and plain.endswith(")"):
            plain = f"-{plain[1:-1]}"
        found = form.fullmatch(plain) if plain else None
        if plain and not found:
            raise where.refused(f"no amount with decimal {decimal!r} and thousands {thousands!r}")
        is_money = decimals == _MONEY
        if found and is_money and not thousands and len(found[3] or "") == _MILLE and len(found[2]) <= _MILLE:
            raise where.refused(f"ambiguous: three digits follow {decimal!r}; state [file] thousands")
        whole = found[2].replace(thousands, "") if found and thousands else found[2] if found else ""
        known[text] = Decimal(f"{found[1]}{whole}.{found[3] or 0}") if found else None
        return known[text]

    return read


def currency_reader(
    records: Records, stated: str | Column | None, name: str, *, may_lack: bool = False
) -> Callable[[int, list[str]], str]:
    """Return a function that gives a row's currency: a constant, or a column; "" where a row may lack one."""
    if stated is None or isinstance(stated, str):
        return lambda _number, _cells: stated or ""
    place = place_of(records, stated.column, name)

    def read(number: int, cells: list[str]) -> str:
        code = cells[place].strip().upper()
        if not _CURRENCY.fullmatch(code) and (code or not may_lack):
            raise Where(name, number, stated.column).refused("no currency code such as EUR")
        return code

    return read


def day_reader(records: Records, stated: Date, name: str, zone: str) -> Callable[[int, list[str]], dt.datetime | None]:
    """Return a function that gives a row's day or time; it is aware if its zone is known. None: the cell is empty."""
    place = place_of(records, stated.column, name)
    return lambda number, cells: _moment(cells[place], stated.form, zone, Where(name, number, stated.column))


def _moment(text: str, form: str, zone: str, where: Where) -> dt.datetime | None:
    if not text.strip():
        return None
    try:
        found = dt.datetime.strptime(text.strip(), form)  # noqa: DTZ007 -- the zone follows
    except ValueError:
        raise where.refused(f"not of the form {form}") from None
    if found.tzinfo is None and zone != "store" and has_time(form):
        found = found.replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return found


def has_time(form: str) -> bool:
    """Whether a form of strptime says more than the day."""
    return any(sign in form for sign in ("%H", "%I", "%c", "%X", "%s"))


def read_lines(content: bytes, name: str, read: Read) -> pa.Table:
    """Return the neutral lines of a file; raise SettlementError, which names row and column."""
    mapping = read.mapping
    records = records_of(content, name, mapping.file.encoding, mapping.file.delimiter)
    return _Reader(records, name, read).lines()


class _Reader:
    """Reads the rows of one file, with the places of its columns."""

    def __init__(self, records: Records, name: str, read: Read) -> None:
        self.records, self.name, self.read, self.mapping = records, name, read, read.mapping
        self.line, file = self.mapping.line, self.mapping.file
        self.amount, self.rate = amount_reader(file.decimal, file.thousands), amount_reader(file.decimal, "", _RATE)
        self.balances: dict[tuple[str | None, str], dict[str, Decimal]] = {}
        self.places = {column: place_of(records, column, name) for column in self._columns()}
        self.currency = currency_reader(records, self.line.currency, name)
        self.settled_currency = currency_reader(records, self.line.settled_currency, name, may_lack=True)
        self.bare = _bare(self.mapping)
        self.days: dict[tuple[str, str, str], dt.datetime | None] = {}

    def _columns(self) -> Iterator[str]:
        line, parts = self.line, self.mapping.components
        for key in ("statement", "payout", "store", "order", "count", "exchange_rate"):
            if stated := getattr(line, key):
                yield stated if isinstance(stated, str) else stated.column
        for key in ("order_date", "ordered_at", "date", "period", "type"):
            if (stated := getattr(line, key)) and not isinstance(stated, str):
                yield stated.column
        if "values" in parts:
            yield from (str(parts["column"]), signed(str(parts["amount"]))[1])
        else:
            yield from (signed(str(column))[1] for column in parts.values())
        check = self.mapping.check
        yield from (signed(each)[1] for each in (check.net, check.settled, *check.balances.values()) if each)

    def lines(self) -> pa.Table:
        columns: dict[str, list[Any]] = {field.name: [] for field in LINES}
        lists = list(columns.values())
        for number, cells in self.records.rows:
            said, currency = self._said(number, cells), self.currency(number, cells)
            amounts = self._amounts(number, cells)
            net = sum((amount for _, amount in amounts), Decimal(0))
            settled_currency, rate, settled = self._settled(number, cells, net)
            balances = self._balances(number, cells, (said[_STATEMENT], currency))
            for place, (component, amount) in enumerate(amounts):
                of_line = amount if settled is None else 0 if place else settled
                paid = (settled_currency or currency, rate, of_line, *balances)
                for values, value in zip(lists, (*said, component, currency, amount, *paid), strict=True):
                    values.append(value)
        _number_settlements(columns, by_event="values" in self.mapping.components)
        if self.line.type is None:
            columns["kind"] = _kinds(columns)
        return self._add_up(pa.table(columns, LINES))

    def _settled(self, number: int, cells: list[str], net: Decimal) -> tuple[Any, Decimal | None, Decimal | None]:
        """Return currency, rate and amount that a row is settled in: each row is rounded by itself."""
        code, column, rate, settled = self.settled_currency(number, cells), self.line.exchange_rate, None, None
        if not code:
            return None, None, None
        if column:
            where = Where(self.name, number, column)
            rate = self.rate(cells[self.places[column]], where)
            if rate is None:
                raise where.refused("is empty")
            settled = (net * rate).quantize(_CENT, ROUND_HALF_UP)
        if check := self.mapping.check.settled:
            settled = self._signed(check, number, cells)
            if settled is None or (rate is not None and abs(settled - net * rate) > _HALF):
                raise Where(self.name, number, check[1:]).refused("not what the row comes to at its exchange rate")
        return code, rate, settled

    def _balances(self, number: int, cells: list[str], of: tuple[str | None, str]) -> list[Decimal | None]:
        """Return opening, paid and closing as a row states them; a statement has one of each."""
        stated = self.mapping.check.balances
        found = {name: self._signed(column, number, cells) for name, column in stated.items()}
        known = self.balances.setdefault(of, {})
        for name, amount in found.items():
            if amount is not None and known.setdefault(name, amount) != amount:
                raise Where(self.name, number, stated[name][1:]).refused("another row of the statement has another")
        return [found.get(name) for name in BALANCES]

    def _add_up(self, lines: pa.Table) -> pa.Table:
        """Refuse a statement whose balances are off by more than the rounding of its amounts can come to."""
        sums = lines.group_by(["statement_ref", "currency"]).aggregate([("amount", "sum"), ("amount", "count")])
        for of in sums.to_pylist() if self.mapping.check.balances else ():
            said = self.balances[of["statement_ref"], of["currency"]]
            where = f"{self.name}, statement {of['statement_ref'] or '(no reference)'}, {of['currency']}"
            if "paid" not in said:
                raise SettlementError(f"{where}: no row says what was paid")
            rounding = said["paid"] + said.get("closing", 0) - said.get("opening", 0) - of["amount_sum"]
            if abs(rounding) > _HALF * of["amount_count"]:
                raise SettlementError(f"{where}: opening and lines do not add up to paid and closing")
        return lines

    def _said(self, number: int, cells: list[str]) -> tuple[Any, ...]:
        """Return what a row says beside its amounts, in the order of LINES."""
        line = self.line
        at, first, last = self._line_date(number, cells)
        day = at.date()
        statement = self._ref(line.statement, number, cells)
        payout = self._ref(line.payout, number, cells)
        if not line.payout and statement and self.bare and (found := first_groups(self.bare, [statement])[0]):
            payout = found
        store, store_id = self._store(day, number, cells)
        order = self._ref(line.order, number, cells)
        is_id = order is not None and _ID.fullmatch(order)
        is_short = has_short_numbers(line)
        if is_short and order and not is_id:
            raise self._where(number, line.order).refused("no short number")
        order_date = self._moment(line.order_date, number, cells)
        ordered_at = self._moment(line.ordered_at, number, cells)
        aware = ordered_at is not None and ordered_at.tzinfo is not None
        return (
            *(number, number, self._kind(number, cells), statement, payout, store, store_id, order),
            *(int(order) if is_id and order and short is is_short else None for short in (False, True)),
            *(day, order_date and order_date.date(), first, last),
            *(at if at.tzinfo else None, ordered_at if aware else None, None if aware else ordered_at),
            self._count(number, cells),
        )

    def _amounts(self, number: int, cells: list[str]) -> list[tuple[str, Decimal]]:
        """Return component and amount of a row; zero only if it has no other. Raise if they miss the row's net."""
        parts = self.mapping.components
        if "values" in parts:
            values = parts["values"]
            word = cells[self.places[str(parts["column"])]].strip()
            if not isinstance(values, dict) or word not in values:
                raise Where(self.name, number, str(parts["column"])).refused("a word that the mapping does not list")
            stated = {values[word]: str(parts["amount"])}
        else:
            stated = {name: str(column) for name, column in parts.items()}
        amounts = [(name, self._signed(column, number, cells)) for name, column in stated.items()]
        if check := self.mapping.check.net:
            net = self._signed(check, number, cells)
            if net is None or net != sum(amount or 0 for _, amount in amounts):
                raise Where(self.name, number, check[1:]).refused("the row does not add up to it")
        found = [(name, amount) for name, amount in amounts if amount]
        return found or [(amounts[0][0], Decimal(0))]

    def _signed(self, text: str, number: int, cells: list[str]) -> Decimal | None:
        sign, column = signed(text)
        amount = self.amount(cells[self.places[column]], Where(self.name, number, column))
        return amount if amount is None or sign > 0 else -amount

    def _line_date(self, number: int, cells: list[str]) -> tuple[dt.datetime, dt.date | None, dt.date | None]:
        if period := self.line.period:
            where = self._where(number, period)
            parts = cells[self.places[period.column]].split(period.split)
            days = [_moment(part, period.form, "store", where) for part in parts]
            if len(days) != len(("first", "last")) or None in days or days[0] > days[1]:  # type: ignore[operator]
                raise where.refused("must be the first and the last day")
            return days[1], days[0].date(), days[1].date()  # type: ignore[union-attr,return-value]
        found = self._moment(self.line.date, number, cells)
        if found is None:
            raise self._where(number, self.line.date).refused("is empty")
        return found, None, None

    def _moment(self, stated: Date | None, number: int, cells: list[str]) -> dt.datetime | None:
        if stated is None:
            return None
        text = cells[self.places[stated.column]]
        key = (stated.column, stated.form, text)
        if key not in self.days:
            self.days[key] = _moment(text, stated.form, self.mapping.file.timezone, self._where(number, stated))
        return self.days[key]

    def _ref(self, stated: str | Text | Order | None, number: int, cells: list[str]) -> str | None:
        """Return a reference: letters, digits and a few signs, so that it starts no formula and hides nothing."""
        if stated is None:
            return None
        column, pattern = (stated, "") if isinstance(stated, str) else (stated.column, stated.pattern)
        text = cells[self.places[column]].strip()
        if text.startswith('="') and text.endswith('"'):  # as spreadsheets keep leading zeros
            text = text[2:-1]
        if not text:
            return None
        if pattern:
            (found,) = first_groups(pattern, [text])
            if found is None:
                raise Where(self.name, number, column).refused("does not match the mapping's pattern")
            text = found
        if not _REF.fullmatch(text):
            raise Where(self.name, number, column).refused("no reference: more than letters, digits and ._/#:+- in it")
        return text

    def _store(self, day: dt.date, number: int, cells: list[str]) -> tuple[str | None, int | None]:
        stated = self.line.store
        if stated is None:
            return None, None
        column = stated if isinstance(stated, str) else stated.column
        text = cells[self.places[column]].strip()
        where = Where(self.name, number, column)
        if not text or len(text) > _MOST_NAME or any(unicodedata.category(sign)[0] == "C" for sign in text):
            raise where.refused("is empty, too long or has control characters")
        if isinstance(stated, Store) and stated.file:
            for span in self.read.stores.get(text, ()):
                if span.first_day <= day <= span.last_day:
                    return text, span.store_id
            raise where.refused(f"a store that {stated.file} does not list on the row's day")
        return text, int(text) if _ID.fullmatch(text) else None

    def _kind(self, number: int, cells: list[str]) -> str | None:
        stated = self.line.type
        if stated is None or isinstance(stated, str):
            return stated
        word = cells[self.places[stated.column]].strip()
        for kind in KINDS:
            if word in getattr(stated, kind):
                return kind
        raise self._where(number, stated).refused("a word that the mapping does not list")

    def _count(self, number: int, cells: list[str]) -> int | None:
        column = self.line.count
        text = cells[self.places[column]].strip() if column else ""
        if column and not _ID.fullmatch(text):
            raise Where(self.name, number, column).refused("no whole number")
        return int(text) if column else None

    def _where(self, number: int, stated: Any) -> Where:
        return Where(self.name, number, stated if isinstance(stated, str) else stated.column)


def _bare(mapping: Mapping) -> str:
    """Return the group of the bank's pattern: it finds the payout in a statement's reference."""
    found = re.search(r"\((.*)\)", mapping.bank.payout) if mapping.bank else None
    return f"({found[1]})" if found else ""


def _number_settlements(columns: dict[str, list[Any]], *, by_event: bool) -> None:
    """Give rows of events that settle one order once the same number; a repeated event begins another settlement."""
    if not by_event:
        return
    seen: dict[tuple[Any, ...], int] = {}
    first: dict[tuple[Any, ...], int] = {}
    keys = ("statement_ref", "store_ref", "order_ref", "order_date", "currency")
    for place, order in enumerate(columns["order_ref"]):
        if order is not None:
            key = tuple(columns[name][place] for name in keys)
            event = (*key, columns["component"][place])
            seen[event] = seen.get(event, 0) + 1
            number = columns["source_row"][place]
            columns["settlement_no"][place] = first.setdefault((*key, seen[event]), number)


def _kinds(columns: dict[str, list[Any]]) -> list[str]:
    """Return the kind of each line where no column says it: by the components of its settlement."""
    held: dict[int, set[str]] = {}
    for number, component in zip(columns["settlement_no"], columns["component"], strict=True):
        held.setdefault(number, set()).add(component)
    kinds = {
        number: "order" if parts & {*GROSS} else "refund" if parts & {*REFUNDS} else "fee"
        for number, parts in held.items()
    }
    return [kinds[number] for number in columns["settlement_no"]]
