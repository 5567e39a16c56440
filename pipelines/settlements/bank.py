"""Read what a bank's file says of a platform's payouts: CSV by the mapping, or camt.053.

Of each credit whose text names a payout reference, day, amount and currency are kept; texts and other rows are not.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET
from xml.parsers import expat

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
    from collections.abc import Iterator

    from pipelines.settlements.mapping import Bank, Read

CREDITS = pa.schema(
    [
        ("source_row", pa.int64()),
        ("payout_ref", pa.string()),
        ("bank_date", pa.date32()),
        ("currency", pa.string()),
        ("amount", pa.decimal128(38, 4)),
    ]
)
_MOST_DEPTH = 64
_DECIMALS = re.compile(r"[0-9]{1,18}(\.[0-9]{1,4})?", re.ASCII)


class _Row(NamedTuple):
    """A row of the bank's file; `text` is where a payout may be named."""

    number: int
    day: dt.date
    currency: str | None
    amount: Decimal
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
        [
            dict(zip(CREDITS.names, (row.number, ref, row.day, row.currency, row.amount), strict=True))
            for row, ref in named
        ],
        schema=CREDITS,
    )
    days = [row.day for row in rows]
    return Credits(table, min(days), max(days), len(rows))


def _csv(content: bytes, name: str, bank: Bank, zone: str) -> Iterator[_Row]:
    if bank.date is None or not bank.amount or not bank.text:
        raise MappingError("[bank] needs date, amount and text for a CSV file")
    records = records_of(content, name, bank.encoding, bank.delimiter)
    day, sign_and_column = day_reader(records, bank.date, name, zone), signed(bank.amount)
    amount, text = (place_of(records, column, name) for column in (sign_and_column[1], bank.text))
    read = amount_reader(bank.decimal, bank.thousands)
    currency = currency_reader(records, bank.currency, name) if bank.currency else None
    for number, cells in records.rows:
        found, value = day(number, cells), read(cells[amount], Where(name, number, sign_and_column[1]))
        if found is None or value is None:
            column = bank.date.column if found is None else sign_and_column[1]
            raise Where(name, number, column).refused("is empty")
        of = currency(number, cells) if currency else None
        yield _Row(number, found.date(), of, value * sign_and_column[0], cells[text])


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
            sign = -1 if entry.findtext("CdtDbtInd") == "DBIT" else 1
            amount = sign * _decimal(entry.find("Amt"), where)
            moved += amount
            details = entry.findall("NtryDtls/TxDtls")
            parts = details if len(details) > 1 else [entry]
            amounts = [
                amount if part is entry else sign * _decimal(_first(part, "Amt", "AmtDtls/TxAmt/Amt"), where)
                for part in parts
            ]
            if sum(amounts) != amount:
                raise where.refused("its transactions do not add up to the entry")
            for part, value in zip(parts, amounts, strict=True):
                yield _Row(number, _day(entry, where), _currency(entry, where), value, " ".join(part.itertext()))
        balances = {_first_text(each, "Tp/CdOrPrtry/Cd"): each for each in statement.findall("Bal")}
        if {"OPBD", "CLBD"} <= balances.keys():
            opening, closing = (_balance(balances[kind], Where(name, number, "Bal")) for kind in ("OPBD", "CLBD"))
            if opening + moved != closing:
                raise SettlementError(f"{name}: opening balance and entries do not add up to the closing balance")


def _balance(balance: ET.Element, where: Where) -> Decimal:
    amount = _decimal(balance.find("Amt"), where)
    return -amount if balance.findtext("CdtDbtInd") == "DBIT" else amount


def _decimal(element: ET.Element | None, where: Where) -> Decimal:
    text = (element.text or "").strip() if element is not None else ""
    try:
        if _DECIMALS.fullmatch(text):
            return Decimal(text)
    except InvalidOperation:
        pass
    raise where.refused("has no amount")


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


def _tree(content: bytes, name: str) -> ET.Element:
    """Return the root of an XML file, names without namespace; any document type, and so every entity, is refused."""
    builder, depth = ET.TreeBuilder(), 0
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(*_: object) -> None:
        raise SettlementError(f"{name}: has a document type declaration, which camt.053 never has")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_DEPTH:
            raise SettlementError(f"{name}: is nested too deeply")
        builder.start(tag.rpartition(" ")[2], attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag.rpartition(" ")[2])

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(content, True)  # noqa: FBT003 -- the last piece
    except expat.ExpatError as error:
        raise SettlementError(f"{name}, line {error.lineno}: not valid XML") from None
    return builder.close()
