"""Read a platform's file by its mapping: neutral lines, one for each source row and component, + what it owes us.

Every value is read as text. A cell that does not have the form that the mapping states, a word that it does not list,
or a row that does not add up refuses the whole file, by row and column. Columns that the mapping does not name are
dropped. Rows are never de-duplicated: a repeat may be a double settlement.
"""

import csv
import datetime as dt
import hashlib
import io
import re
import unicodedata
import zoneinfo
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from pipelines.landing.exact import YEARS
from pipelines.landing.shape import currency_decimals
from pipelines.ledger import LedgerError
from pipelines.literals import encoding_of
from pipelines.settlements import mapping

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
        *((name, _INSTANT) for name in ("line_at", "ordered_at", "ordered_at_else")),  # where it says the zone
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
_ALIKE = (" \u00a0\u2000-\u200a\u202f\u205f\u3000", "'\u2018\u2019\u02bc\u2032`\u00b4")  # one sign of thousands
_MINUS = re.compile("[\u2010-\u2015\u2212\ufe63\uff0d]")
_MARKS = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")  # of writing direction
_CURRENCY_SYMBOLS = dict(  # and the currencies that they may stand for
    each.split("=")
    for each in "€=EUR;£=GBP EGP GIP;R$=BRL;US$=USD;C$=CAD;CA$=CAD;A$=AUD;AU$=AUD;NZ$=NZD;S$=SGD;NT$=TWD;MX$=MXN;"
    "$=USD CAD AUD NZD HKD SGD TWD MXN ARS CLP COP UYU DOP;zł=PLN;kr=SEK NOK DKK ISK;kr.=SEK NOK DKK;Fr=CHF;Fr.=CHF;"
    "SFr.=CHF;Ft=HUF;Kč=CZK;lei=RON;лв=BGN;лв.=BGN;₽=RUB;₴=UAH;₺=TRY;TL=TRY;₹=INR;Rs=INR PKR LKR;Rs.=INR PKR LKR;₪=ILS;"
    "₩=KRW;¥=JPY CNY;円=JPY;元=CNY;₫=VND;฿=THB;₱=PHP;₦=NGN;₸=KZT;₲=PYG;₡=CRC;S/=PEN;RM=MYR;Rp=IDR;R=ZAR".split(";")
)
_OF = "|".join(map(re.escape, sorted(_CURRENCY_SYMBOLS, key=len, reverse=True)))
_BESIDE = re.compile(rf"^(?:[A-Z]{{3}}|{_OF})(?![^\W\d_])|(?<![^\W\d_])(?:[A-Z]{{3}}|{_OF})$")
_SIDE = re.compile(r"(?<![^\W\d_])\s*([CDcd])[Rr]$")
_TIME = re.compile("%[HIcXs]")  # of a form: it says more than the day


class SettlementError(LedgerError):
    """A file is refused; the message names row and column, never a value."""


class Records(NamedTuple):
    """The rows of a CSV file: its header, and each row with its number; of total rows apart."""

    header: list[str]
    rows: list[tuple[int, list[str]]]
    totals: list[tuple[int, list[str]]]
    header_row: int


class CellRef(NamedTuple):
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


def records_of(content: bytes, name: str, csv_layout: mapping.Csv) -> Records:
    """Return header, rows and total rows of a CSV file, all text; rows without any text are left out."""
    encoding = encoding_of(content, csv_layout.encoding or "utf-8")
    try:
        text = content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise SettlementError(f"{name} is not {encoding}: state its encoding in the mapping") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=csv_layout.delimiter, strict=True)
    number, header_row, rows = 0, csv_layout.rows_above + 1, []
    header: list[str] = []
    try:
        for number, cells in enumerate(reader, 1):
            if number == header_row:
                header = [each.strip() for each in cells]
            if number <= header_row or not any(map(str.strip, cells)):
                continue
            is_total = csv_layout.has_total(header, cells)
            if len(cells) != len(header) and not (is_total and len(cells) < len(header)):
                raise SettlementError(f"{name}, row {number}: {len(cells)} cells, the header has {len(header)}")
            rows.append((number, cells + [""] * (len(header) - len(cells)), is_total))
    except csv.Error as error:
        raise SettlementError(f"{name}, after row {number}: not valid CSV: {error}") from None
    if all(is_total for *_, is_total in rows):
        raise SettlementError(f"{name} has no rows")
    lines, totals = ([row[:2] for row in rows if row[2] is is_total] for is_total in (False, True))
    return Records(header, lines, totals, header_row)


def header_index(records: Records, column: str, name: str) -> int:
    """Return the place of a column in the header."""
    if records.header.count(column) != 1:
        found = "has no" if column not in records.header else "has more than one"
        raise SettlementError(f"{name}, row {records.header_row}: {found} column {column}, which the mapping names")
    return records.header.index(column)


def amount_reader(decimal: str, thousands: str, decimals: int = _MONEY) -> Callable[..., Decimal | None]:
    """Return a function that reads an amount exactly; None if the cell is empty. A dash alone is 0.

    The sign may follow the digits or be brackets, and a currency may stand beside them, if it is the row's. 1.234 is
    refused unless the mapping states both signs: it is one of two amounts. A rate is only one.
    """
    between = next((f"[{each}]" for each in _ALIKE if thousands and thousands in each), re.escape(thousands))
    groups = rf"[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+|[1-9][0-9]?(?:{between}[0-9]{{2}})+{between}[0-9]{{3}}|"
    point = re.escape(decimal)
    form = re.compile(
        rf"({groups if thousands else ''}[0-9]{{0,18}})(?:{point}(?:([0-9]{{1,{decimals}}})|(-+)))?", re.ASCII
    )
    is_money = decimals == _MONEY
    known: dict[tuple[str, str], Decimal | None] = {}

    def parsed(text: str, where: CellRef, currency: str) -> Decimal | None:
        plain = _MARKS.sub("", _MINUS.sub("-", text)).strip()
        sign, plain = _sign_of(plain)
        if beside := _BESIDE.search(plain):
            plain = f"{plain[: beside.start()]}{plain[beside.end() :]}".strip()
            if not currency or currency not in _CURRENCY_SYMBOLS.get(beside[0].strip(), beside[0]).split():
                raise where.refused("beside it stands another currency than the row's, or the row has none")
        inner, plain = _sign_of(plain)
        if is_money and (sign + inner, plain) in {("-", ""), ("", "-")}:
            return Decimal(0)
        found = form.fullmatch(plain)
        if not (plain or text.strip()):
            return None
        whole = re.sub("[^0-9]", "", found[1]) if found else ""
        if not found or not (whole or found[2]) or len(sign + inner) > 1:
            raise where.refused(f"no amount with decimal {decimal!r} and thousands {thousands!r}")
        is_three = len(found[2] or "") == _MILLE and 0 < len(whole) <= _MILLE and whole[0] != "0"
        if is_money and not thousands and is_three:
            raise where.refused(f"ambiguous: three digits follow {decimal!r}; state [file] thousands")
        amount = Decimal(f"{whole or 0}.{found[2] or 0}")
        return -amount if sign + inner in {"-", "("} else amount

    def read(text: str, where: CellRef, currency: str = "") -> Decimal | None:
        if (text, currency) not in known:
            known[text, currency] = parsed(text, where, currency)
        return known[text, currency]

    return read


def _sign_of(text: str) -> tuple[str, str]:
    """Return the sign of an amount, "" if it has none, and the rest; brackets are one, and so are CR (+) and DR (-)."""
    if found := _SIDE.search(text):
        return "+" if found[1] in "Cc" else "-", text[: found.start()]
    if text.startswith("(") and text.endswith(")"):
        return "(", text[1:-1].strip()
    if text[:1] in {"-", "+"}:
        return text[0], text[1:].strip()
    if text[-1:] in {"-", "+"} and text[-2:-1] not in {".", ",", "-"}:
        return text[-1], text[:-1].strip()
    return "", text


def currency_reader(
    records: Records, stated: str | mapping.PlainColumn | None, name: str, *, may_lack: bool = False
) -> Callable[[int, list[str]], str]:
    """Return a function that gives a row's currency: a constant, or a column; "" where a row may lack one."""
    if stated is None or isinstance(stated, str):
        return lambda _number, _cells: stated or ""
    place = header_index(records, stated.column, name)

    def read(number: int, cells: list[str]) -> str:
        code = cells[place].strip().upper()
        if not _CURRENCY.fullmatch(code) and (code or not may_lack):
            raise CellRef(name, number, stated.column).refused("no currency code such as EUR")
        return code

    return read


def day_reader(
    records: Records, stated: mapping.Date, name: str, zone: str
) -> Callable[[int, list[str]], dt.datetime | None]:
    """Return a function that gives a row's day or time; it is aware if its zone is known. None: none that can be."""
    place = header_index(records, stated.column, name)
    return lambda number, cells: _moment(cells[place], stated.form, zone, CellRef(name, number, stated.column))


def _moment(text: str, form: str, zone: str, where: CellRef) -> dt.datetime | None:
    if not text.strip(" 0-/.:TZ"):  # empty, or a zero date
        return None
    try:
        found = dt.datetime.strptime(text.strip(), form)  # noqa: DTZ007 -- the zone follows
    except ValueError:
        raise where.refused(f"not of the form {form}") from None
    if found.year not in YEARS:
        return None
    if found.tzinfo is None and zone != "store" and _TIME.search(form):
        found = found.replace(tzinfo=zoneinfo.ZoneInfo(zone))
    return found


def _other_time(at: dt.datetime | None) -> dt.datetime | None:
    """Return the second time that a clock showed the same, before and after it was put back; None if there is none."""
    if at is None or not isinstance(at.tzinfo, zoneinfo.ZoneInfo):
        return None
    later = at.replace(fold=1).astimezone(dt.UTC)
    return later if later > at.astimezone(dt.UTC) else None


def read_statements(content: bytes, name: str, read: mapping.LoadedMapping) -> tuple[pa.Table, list[dict[str, Any]]]:
    """Return the neutral lines of a file, and the payouts among its rows; raise SettlementError with row and column."""
    reader = _Reader(records_of(content, name, read.mapping.file), name, read)
    return reader.lines(), reader.paid


class _Reader:
    """Reads the rows of one file, with the places of its columns."""

    def __init__(self, records: Records, name: str, read: mapping.LoadedMapping) -> None:
        self.records, self.name, self.read, self.mapping = records, name, read, read.mapping
        self.line, file = self.mapping.line, self.mapping.file
        self.amount, self.rate = amount_reader(file.decimal, file.thousands), amount_reader(file.decimal, "", _RATE)
        self.balances: dict[tuple[str | None, str], dict[str, Decimal]] = {}
        self.places = {column: header_index(records, column, name) for column in self._columns()}
        self.currency = currency_reader(records, self.line.currency, name)
        self.settled_currency = currency_reader(records, self.line.settled_currency, name, may_lack=True)
        # the group of the bank's pattern finds the payout in a statement's reference
        found = re.search(r"\((.*)\)", self.mapping.bank.payout) if self.mapping.bank else None
        self.bare = f"({found[1]})" if found else ""
        self.payouts: dict[tuple[str | None, str], list[tuple[str | None, Decimal]]] = {}
        self.paid: list[dict[str, Any]] = []
        self.days: dict[tuple[str, str, str], dt.datetime | None] = {}

    def _columns(self) -> Iterator[str]:
        line, parts = self.line, self.mapping.components
        for key in ("statement", "payout", "store", "order", "count", "exchange_rate"):
            if stated := getattr(line, key):
                yield stated if isinstance(stated, str) else stated.column
        for key in ("order_date", "ordered_at", "date", "period", "type"):
            if (stated := getattr(line, key)) and not isinstance(stated, str):
                yield stated.column
        yield from (column for each in self.mapping.check.balances.values() for _, column in mapping.signed(each))
        if "values" in parts:
            yield str(parts["column"])
        if isinstance(self.mapping.file.total, mapping.TotalRow):
            yield self.mapping.file.total.column
        yield from self._sums()

    def _sums(self) -> Iterator[str]:
        """Yield the columns of amounts, but of balances, which total rows do not add up."""
        parts, check = self.mapping.components, self.mapping.check
        amounts = [parts["amount"]] if "values" in parts else parts.values()
        for each in (*amounts, check.net, check.settled):
            yield from (column for _, column in mapping.signed(each))

    def lines(self) -> pa.Table:
        columns: dict[str, list[Any]] = {field.name: [] for field in LINES}
        lists = list(columns.values())
        for number, cells in self.records.rows:
            currency = self.currency(number, cells)
            if self._is_payout(cells):
                self._take_payout(number, cells, currency)
                continue
            line_values = self._line_values(number, cells)
            amounts = self._amounts(number, cells, currency)
            net = sum((amount for _, amount in amounts), Decimal(0))
            settled_currency, rate, settled = self._settled(number, cells, net)
            balances = self._balances(number, cells, (line_values[_STATEMENT], currency))
            for place, (component, amount) in enumerate(amounts):
                of_line = amount if settled is None else 0 if place else settled
                paid = (settled_currency or currency, rate, of_line, *balances)
                for values, value in zip(lists, (*line_values, component, currency, amount, *paid), strict=True):
                    values.append(value)
        self._check_totals()
        self._add_payouts(columns)
        _number_settlements(columns, by_event="values" in self.mapping.components)
        if self.line.type is None:
            columns["kind"] = _kinds(columns)
        return self._add_up(pa.table(columns, LINES))

    def _check_totals(self) -> None:
        """Refuse a total row whose amount is neither the sum of all rows above nor of those since the last one."""
        sums = {column: (Decimal(0), Decimal(0)) for column in self._sums()}
        codes = {self.currency(number, cells) for number, cells in self.records.rows}
        code = min(codes) if len(codes) == 1 else ""
        totals = {number for number, _ in self.records.totals}
        for number, cells in sorted((*self.records.rows, *self.records.totals)) if totals else ():
            for column, (above, since) in sums.items():
                where = CellRef(self.name, number, column)
                of = code if number in totals else self.currency(number, cells)
                amount = self.amount(cells[self.places[column]], where, of) or Decimal(0)
                is_stated = number in totals and cells[self.places[column]].strip()
                if is_stated and amount not in {above, since}:
                    raise where.refused("is not the sum of the rows above")
                if number in totals:
                    sums[column] = above, Decimal(0)
                elif not self._is_payout(cells):
                    sums[column] = above + amount, since + amount

    def _is_payout(self, cells: list[str]) -> bool:
        """Whether a row is not a line, but says what was paid."""
        stated, parts = self.line.type, self.mapping.components
        if isinstance(stated, mapping.Type) and cells[self.places[stated.column]].strip() in stated.payout:
            return True
        values = parts.get("values")
        return (
            isinstance(values, dict) and values.get(cells[self.places[str(parts["column"])]].strip()) == mapping.PAYOUT
        )

    def _take_payout(self, number: int, cells: list[str], currency: str) -> None:
        parts = self.mapping.components
        net: Any = self.mapping.check.net
        sums: dict[str, Any] = {"net": parts["amount"]} if "values" in parts else {"net": net} if net else {**parts}
        amounts = [self._signed(each, number, cells, currency) for each in sums.values()]
        refs = [self._ref(each, number, cells) for each in (self.line.statement, self.line.payout)]
        self.payouts.setdefault((refs[0], currency), []).append((refs[1], sum(filter(None, amounts), Decimal(0))))

    def _add_payouts(self, columns: dict[str, list[Any]]) -> None:
        """State of each statement with payouts what they come to, and its one payout where lines name none."""
        of = list(zip(columns["statement_ref"], columns["currency"], strict=True))
        for key, payouts in self.payouts.items():
            places = [place for place, each in enumerate(of) if each == key]
            net, paid = (
                sum(each, Decimal(0)) for each in ([columns["amount"][at] for at in places], [a for _, a in payouts])
            )
            refs = {ref for ref, _ in payouts}
            sign = 1 if paid == net else -1
            for ref, amount in payouts:
                known = {"statement_ref": key[0], "payout_ref": ref, "currency": key[1]}
                self.paid += [known | {"amount": str(sign * amount)}] if ref else []
            for at in places:
                if columns["paid"][at] is None and not self.mapping.check.paid:
                    columns["paid"][at] = sign * paid
                if columns["payout_ref"][at] is None and len(refs) == 1:
                    columns["payout_ref"][at] = min(refs, key=str)

    def _settled(self, number: int, cells: list[str], net: Decimal) -> tuple[Any, Decimal | None, Decimal | None]:
        """Return currency, rate and amount that a row is settled in: each row is rounded by itself."""
        code, column, rate, settled = self.settled_currency(number, cells), self.line.exchange_rate, None, None
        if not code:
            return None, None, None
        smallest = Decimal(1).scaleb(-currency_decimals(code))
        if column:
            where = CellRef(self.name, number, column)
            if (rate := self.rate(cells[self.places[column]], where)) is None:
                raise where.refused("is empty")
            settled = (net * rate).quantize(smallest, ROUND_HALF_UP)
        if check := self.mapping.check.settled:
            settled = self._signed(check, number, cells, code)
            if settled is None or (rate is not None and abs(settled - net * rate) > smallest / 2):
                at = mapping.signed(check)[0][1]
                raise CellRef(self.name, number, at).refused("not what the row comes to at its exchange rate")
        return code, rate, settled

    def _balances(self, number: int, cells: list[str], of: tuple[str | None, str]) -> list[Decimal | None]:
        """Return opening, paid and closing as a row states them; a statement has one of each."""
        stated = self.mapping.check.balances
        found = {name: self._signed(column, number, cells, of[1]) for name, column in stated.items()}
        known = self.balances.setdefault(of, {})
        for name, amount in found.items():
            if amount is not None and known.setdefault(name, amount) != amount:
                at = mapping.signed(stated[name])[0][1]
                raise CellRef(self.name, number, at).refused("another row of the statement has another")
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
            if abs(rounding) * 2 > of["amount_count"] * Decimal(1).scaleb(-currency_decimals(of["currency"])):
                raise SettlementError(f"{where}: opening and lines do not add up to paid and closing")
        return lines

    def _line_values(self, number: int, cells: list[str]) -> tuple[Any, ...]:
        """Return what a row says beside its amounts, in the order of LINES."""
        line = self.line
        at, first, last = self._line_date(number, cells)
        day = at.date()
        statement = self._ref(line.statement, number, cells)
        payout = self._ref(line.payout, number, cells)
        if not line.payout and statement and self.bare and (found := mapping.first_groups(self.bare, [statement])[0]):
            payout = found
        store, store_id = self._store(day, number, cells)
        order = self._ref(line.order, number, cells)
        is_id = order is not None and _ID.fullmatch(order)
        is_nobody = store and store_id is None and isinstance(line.store, mapping.StoreColumn) and bool(line.store.file)
        is_short = mapping.has_short_numbers(line)
        if is_short and order and not is_id:
            raise self._where(number, line.order).refused("no short number")
        order_date = self._moment(line.order_date, number, cells)
        ordered_at = self._moment(line.ordered_at, number, cells)
        aware = ordered_at is not None and ordered_at.tzinfo is not None
        ours = int(order) if is_id and order and not is_nobody else None
        return (
            *(number, number, self._kind(number, cells), statement, payout, store, store_id, order),
            *((None, ours) if is_short else (ours, None)),
            *(day, order_date and order_date.date(), first, last),
            *(each.astimezone(dt.UTC) if each and each.tzinfo else None for each in (at, ordered_at)),
            *(_other_time(ordered_at), None if aware else ordered_at),
            self._count(number, cells),
        )

    def _amounts(self, number: int, cells: list[str], currency: str) -> list[tuple[str, Decimal]]:
        """Return component and amount of a row; zero only if it has no other. Raise if they miss the row's net."""
        parts = self.mapping.components
        if "values" in parts:
            values = parts["values"]
            word = cells[self.places[str(parts["column"])]].strip()
            if not isinstance(values, dict) or word not in values:
                raise CellRef(self.name, number, str(parts["column"])).refused("a word that the mapping does not list")
            stated = {values[word]: parts["amount"]}
        else:
            stated = parts
        amounts = [(name, self._signed(of, number, cells, currency)) for name, of in stated.items()]
        if check := self.mapping.check.net:
            net = self._signed(check, number, cells, currency)
            if net is None or net != sum(amount or 0 for _, amount in amounts):
                raise CellRef(self.name, number, mapping.signed(check)[0][1]).refused("the row does not add up to it")
        found = [(name, amount) for name, amount in amounts if amount]
        return found or [(amounts[0][0], Decimal(0))]

    def _signed(self, stated: Any, number: int, cells: list[str], currency: str) -> Decimal | None:
        """Return the sum of columns with signs; None if all are empty."""
        found = []
        for sign, column in mapping.signed(stated):
            amount = self.amount(cells[self.places[column]], CellRef(self.name, number, column), currency)
            found += [] if amount is None else [sign * amount]
        return sum(found, Decimal(0)) if found else None

    def _line_date(self, number: int, cells: list[str]) -> tuple[dt.datetime, dt.date | None, dt.date | None]:
        if period := self.line.period:
            where = self._where(number, period)
            parts = cells[self.places[period.column]].split(period.split)
            days = [_moment(part, period.form, "store", where) for part in parts]
            if len(days) != len(("first", "last")) or None in days or days[0] > days[1]:  # type: ignore[operator]
                raise where.refused("must be the first and the last day")
            return days[1], days[0].date(), days[1].date()  # type: ignore[union-attr,return-value]
        if (found := self._moment(self.line.date, number, cells)) is None:
            raise self._where(number, self.line.date).refused("has no date")
        return found, None, None

    def _moment(self, stated: mapping.Date | None, number: int, cells: list[str]) -> dt.datetime | None:
        if stated is None:
            return None
        text = cells[self.places[stated.column]]
        key = (stated.column, stated.form, text)
        if key not in self.days:
            self.days[key] = _moment(text, stated.form, self.mapping.file.timezone, self._where(number, stated))
        return self.days[key]

    def _ref(
        self, stated: str | mapping.Text | mapping.OrderColumn | None, number: int, cells: list[str]
    ) -> str | None:
        """Return a reference: letters, digits and a few characters, so that it starts no formula and hides nothing."""
        if stated is None:
            return None
        column, pattern = (stated, "") if isinstance(stated, str) else (stated.column, stated.pattern)
        text = cells[self.places[column]].strip()
        if text.startswith('="') and text.endswith('"'):  # as spreadsheets keep leading zeros
            text = text[2:-1]
        if not text:
            return None
        if pattern:
            (found,) = mapping.first_groups(pattern, [text])
            if found is None:
                raise CellRef(self.name, number, column).refused("does not match the mapping's pattern")
            text = found
        if not _REF.fullmatch(text):
            raise CellRef(self.name, number, column).refused(
                "no reference: more than letters, digits and ._/#:+- in it"
            )
        return text

    def _store(self, day: dt.date, number: int, cells: list[str]) -> tuple[str | None, int | None]:
        if (stated := self.line.store) is None:
            return None, None
        column = stated if isinstance(stated, str) else stated.column
        text = cells[self.places[column]].strip()
        where = CellRef(self.name, number, column)
        if not text:
            return None, None
        if len(text) > _MOST_NAME or any(unicodedata.category(sign)[0] == "C" for sign in text):
            raise where.refused("is too long or has control characters")
        if isinstance(stated, mapping.StoreColumn) and stated.file:
            for span in self.read.stores.get(text, ()):
                if span.first_day <= day <= span.last_day:
                    return text, span.store_id
            return text, None
        return text, int(text) if _ID.fullmatch(text) else None

    def _kind(self, number: int, cells: list[str]) -> str | None:
        stated = self.line.type
        if stated is None or isinstance(stated, str):
            return mapping.ROW_KINDS[stated] if stated else None
        word = cells[self.places[stated.column]].strip()
        for key, kind in mapping.ROW_KINDS.items():
            if word in getattr(stated, key):
                return kind
        raise self._where(number, stated).refused("a word that the mapping does not list")

    def _count(self, number: int, cells: list[str]) -> int | None:
        column = self.line.count
        text = cells[self.places[column]].strip() if column else ""
        if column and not _ID.fullmatch(text):
            raise CellRef(self.name, number, column).refused("no whole number")
        return int(text) if column else None

    def _where(self, number: int, stated: Any) -> CellRef:
        return CellRef(self.name, number, stated if isinstance(stated, str) else stated.column)


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
        number: "order" if parts & {*mapping.GROSS} else "refund" if parts & {*mapping.REFUNDS} else "fee"
        for number, parts in held.items()
    }
    return [kinds[number] for number in columns["settlement_no"]]
