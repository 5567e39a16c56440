"""Read what a bank's file says of a platform's payouts: CSV by the mapping, or camt.053.

Of each credit whose text names a payout reference, day, amount and currency are kept; texts and other rows are not.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

import pyarrow as pa

from pipelines.settlements.lines import (
    SettlementError,
    Where,
    amount_reader,
    currency_reader,
    day_reader,
    place_of,
    records_of,
)
from pipelines.settlements.mapping import MappingError, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.settlements.lines import Records
    from pipelines.settlements.mapping import Bank, Read

CREDITS = pa.schema(
    [
        ("source_row", pa.int64()),
        ("payout_ref", pa.string()),
        ("bank_date", pa.date32()),
        ("currency", pa.string()),
        ("amount", pa.decimal128(38, 4)),
        ("fee_amount", pa.decimal128(38, 4)),  # kept by the bank
    ]
)
_MOST_DEPTH = 64
_CHARGES = {"CHRG", "COMM", "FEES"}  # sub-families of bank transaction codes
_DECIMALS = re.compile(r"[0-9]{1,18}(\.[0-9]{1,4})?", re.ASCII)


class _Row(NamedTuple):
    """A row of the bank's file; `text` is where a payout may be named, `fee` the amount that the bank kept."""

    number: int
    day: dt.date
    currency: str | None
    amount: Decimal
    fee: Decimal
    text: str


class Credits(NamedTuple):
    """The payouts that a bank's file names, and from which day to which it has rows of any kind."""

    table: pa.Table
    first_day: dt.date
    last_day: dt.date
    row_count: int


def read_bank(content: bytes, name: str, read: Read) -> Credits:
    """Return the platform's payouts in a bank's file; raise SettlementError, which names row and column."""
    bank = read.mapping.bank
    if bank is None:
        raise MappingError("the mapping has no [bank]")
    is_xml = content.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<")
    rows = list(_camt(content, name) if is_xml else _csv(content, name, bank, read.mapping.file.timezone))
    if not rows:
        raise SettlementError(f"{name} has no booked entries")
    pattern = re.compile(bank.payout)
    named = [(row, found[1]) for row in rows if (found := pattern.search(row.text))]
    table = pa.Table.from_pylist(
        [dict(zip(CREDITS.names, (row.number, ref, *row[1:-1]), strict=True)) for row, ref in named],
        schema=CREDITS,
    )
    days = [row.day for row in rows]
    return Credits(table, min(days), max(days), len(rows))


def _csv(content: bytes, name: str, bank: Bank, zone: str) -> Iterator[_Row]:
    if bank.date is None or not bank.amount or not bank.text:
        raise MappingError("[bank] needs date, amount and text for a CSV file")
    records = records_of(content, name, bank.encoding, bank.delimiter)
    day, text = day_reader(records, bank.date, name, zone), place_of(records, bank.text, name)
    amount, fee = (_amounts(records, column, name, bank) for column in (bank.amount, bank.fee))
    currency = currency_reader(records, bank.currency, name) if bank.currency else None
    for number, cells in records.rows:
        found, value = day(number, cells), amount(number, cells)
        if found is None or value is None:
            raise Where(name, number, bank.date.column if found is None else bank.amount[1:]).refused("is empty")
        of = currency(number, cells) if currency else None
        yield _Row(number, found.date(), of, value, fee(number, cells) or Decimal(0), cells[text])


def _amounts(records: Records, stated: str, name: str, bank: Bank) -> Callable[[int, list[str]], Decimal | None]:
    """Return a function that gives a row's amount in a column with a sign; None if there is none."""
    if not stated:
        return lambda _number, _cells: None
    (sign, column), read = signed(stated), amount_reader(bank.decimal, bank.thousands)
    place = place_of(records, column, name)

    def amount(number: int, cells: list[str]) -> Decimal | None:
        value = read(cells[place], Where(name, number, column))
        return value if value is None else sign * value

    return amount


def _camt(content: bytes, name: str) -> Iterator[_Row]:
    """Yield the booked entries of camt.053; those of a batch one by one. Opening and closing balance must agree."""
    number = 0
    for statement in _tree(content, name).iter("Stmt"):
        moved = Decimal(0)
        for entry in statement.findall("Ntry"):
            number += 1
            if (entry.findtext("Sts/Cd") or entry.findtext("Sts") or "").strip() != "BOOK":
                continue
            where = Where(name, number, "Ntry")
            sign, amount = _sign(entry), _signed(entry, where)
            moved += amount
            details = entry.findall("NtryDtls/TxDtls")
            parts = details if len(details) > 1 else [entry]
            amounts = [
                amount if part is entry else sign * _decimal(_first(part, "Amt", "AmtDtls/TxAmt/Amt"), where)
                for part in parts
            ]
            fees = [_fee(entry, part, amount, where) for part in parts]
            if sum(amounts) != amount:  # stated before charges
                amounts = [value - fee for value, fee in zip(amounts, fees, strict=True)]
            if sum(amounts) != amount:
                raise where.refused("its transactions do not add up to the entry")
            for part, value, fee in zip(parts, amounts, fees, strict=True):
                text = " ".join(part.itertext())
                yield _Row(number, _day(entry, where), _currency(entry, where), value, fee, text)
        balances = {_first_text(each, "Tp/CdOrPrtry/Cd"): each for each in statement.findall("Bal")}
        if {"OPBD", "CLBD"} <= balances.keys():
            opening, closing = (_signed(balances[kind], Where(name, number, "Bal")) for kind in ("OPBD", "CLBD"))
            if opening + moved != closing:
                raise SettlementError(f"{name}: opening balance and entries do not add up to the closing balance")


def _fee(entry: ET.Element, part: ET.Element, amount: Decimal, where: Where) -> Decimal:
    """Return the amount that the bank kept: charges within a transaction, or the whole of an entry that is a charge.

    Banks repeat charges of an entry's one transaction in the entry. Without a record they are within the amount, too.
    """
    if _first_text(entry, "BkTxCd/Domn/Fmly/SubFmlyCd") in _CHARGES:
        return -amount
    charges = part.findall("NtryDtls/TxDtls/Chrgs") or part.findall("Chrgs")
    records = [
        record for each in charges for record in each.findall("Rcrd") or [each] if record.find("Amt") is not None
    ]
    return sum(
        (
            _decimal(each.find("Amt"), where) * (-1 if each.findtext("CdtDbtInd") == "CRDT" else 1)
            for each in records
            if each in charges or each.findtext("ChrgInclInd") in {"true", "1"}
            if _currency(each, where) == _currency(entry, where)
        ),
        Decimal(0),
    )


def _sign(element: ET.Element) -> int:
    return -1 if element.findtext("CdtDbtInd") == "DBIT" else 1


def _signed(element: ET.Element, where: Where) -> Decimal:
    return _sign(element) * _decimal(element.find("Amt"), where)


def _decimal(element: ET.Element | None, where: Where) -> Decimal:
    text = (element.text or "").strip() if element is not None else ""
    if not _DECIMALS.fullmatch(text):
        raise where.refused("has no amount")
    return Decimal(text)


def _day(entry: ET.Element, where: Where) -> dt.date:
    text = _first_text(entry, "BookgDt/Dt", "BookgDt/DtTm")
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        raise where.refused("has no booking date") from None


def _currency(entry: ET.Element, where: Where) -> str:
    amount = entry.find("Amt")
    code = amount.get("Ccy", "") if amount is not None else ""
    if not re.fullmatch("[A-Z]{3}", code):
        raise where.refused("has no currency")
    return code


def _first(element: ET.Element, *paths: str) -> ET.Element | None:
    return next((found for path in paths if (found := element.find(path)) is not None), None)


def _first_text(element: ET.Element, *paths: str) -> str:
    found = _first(element, *paths)
    return (found.text or "").strip() if found is not None else ""


class _Builder(ET.TreeBuilder):
    """Builds a tree of names without namespace; a document type, and so every entity, is refused."""

    depth = 0
    name = ""

    def doctype(self, *_: str | None) -> None:
        raise SettlementError(f"{self.name}: has a document type declaration, which camt.053 never has")

    def start(self, tag: str, attributes: dict[str, str]) -> ET.Element:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise SettlementError(f"{self.name}: is nested too deeply")
        return super().start(tag.rpartition("}")[2], attributes)

    def end(self, tag: str) -> ET.Element:
        self.depth -= 1
        return super().end(tag.rpartition("}")[2])


def _tree(content: bytes, name: str) -> ET.Element:
    """Return the root of an XML file."""
    builder = _Builder()
    builder.name = name
    try:
        return ET.fromstring(content, ET.XMLParser(target=builder))  # noqa: S314 -- the builder refuses document types
    except ET.ParseError as error:
        raise SettlementError(f"{name}, line {error.position[0]}: not valid XML") from None
