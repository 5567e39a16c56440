"""Control totals: what somebody else says a store's day came to, imported as an act of the ledger.

A later import of the same day, store, money part and sale classes stands for the earlier one, which stays in the
chain. Knows nothing of what our own orders add up to.
"""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import io
import re
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from pipelines.ledger.chain import Ledger, LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.ledger.chain import Entry

ACT = "totals"
MONEY_PARTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
SALE_CLASSES = ("counted", "excluded", "unmapped", "deleted")
HEADER = ("day", "store_id", "orders", "amount", "amount_field", "sale_classes")
AMOUNT = pa.decimal128(38, 4)
SCHEMA = pa.schema(
    [
        pa.field("day", pa.date32(), nullable=False),
        pa.field("store_id", pa.int64(), nullable=False),
        pa.field("orders", pa.int64()),
        pa.field("amount", AMOUNT),
        pa.field("amount_field", pa.string(), nullable=False),
        pa.field("sale_classes", pa.string(), nullable=False),
    ]
)
_AMOUNT = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,4})?", re.ASCII)
_WHOLE = re.compile(r"[0-9]{1,18}", re.ASCII)
_LARGEST_ID = 2**63 - 1


class TotalsError(LedgerError):
    """The file of control totals cannot be taken; the message names the line and the column."""


class Total(NamedTuple):
    """One control total. `orders` or `amount` is None where the file does not state it.

    `sale_classes` are joined by "+", in the order of their names.
    """

    day: dt.date
    store_id: int
    orders: int | None
    amount: Decimal | None
    amount_field: str
    sale_classes: str

    @property
    def about(self) -> tuple[dt.date, int, str, str]:
        """What it is a total of: a later one of the same takes its place."""
        return self.day, self.store_id, self.amount_field, self.sale_classes


class Imported(NamedTuple):
    """What an import came to: the act's number, how many totals it holds, and how many earlier ones they replace."""

    entry_no: int
    totals: int
    replaced: int


def import_totals(ledger: Ledger, file: Path) -> Imported:
    """Write the control totals of a CSV file into the ledger as one act; raise TotalsError, and write nothing, else."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise TotalsError(f"{file} cannot be read: {error.strerror}") from None
    totals = read_totals(content, file.name)
    known = {total.about for _, total in totals_in_force(ledger)}
    rows = pa.Table.from_pylist([total._asdict() for total in totals], schema=SCHEMA)
    body = {"file": file.name, "sha256": hashlib.sha256(content).hexdigest(), "totals": len(totals)}
    entry = ledger.append(ACT, body, rows)
    return Imported(entry.no, len(totals), sum(total.about in known for total in totals))


def totals_in_force(ledger: Ledger) -> list[tuple[Entry, Total]]:
    """Return the control totals that stand, each with the act that brought it, by day, store, part and classes."""
    standing: dict[tuple[dt.date, int, str, str], tuple[Entry, Total]] = {}
    for entry in ledger.entries(ACT):
        for row in ledger.rows(entry).to_pylist():
            total = Total(**row)
            standing[total.about] = (entry, total)
    return [standing[about] for about in sorted(standing)]


def read_totals(content: bytes, name: str) -> list[Total]:
    """Return the totals of a CSV file with the columns of HEADER, in any order; amounts are exact.

    Raise TotalsError naming line and column for anything else.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TotalsError(f"{name} is not UTF-8: export it as UTF-8") from None
    totals: list[Total] = []
    lines: dict[tuple[dt.date, int, str, str], int] = {}
    for line, fields in _records(text, name):
        total = _total(fields, f"{name}, line {line}")
        if (before := lines.setdefault(total.about, line)) != line:
            raise TotalsError(f"{name}, line {line}: line {before} has the same day, store, money part and classes")
        totals.append(total)
    if not totals:
        raise TotalsError(f"{name} holds no totals, only its header")
    return totals


def _records(text: str, name: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = tuple(column.strip() for column in next(reader, ()))
        if sorted(header) != sorted(HEADER):
            raise TotalsError(f"{name}, line 1: the header must name these columns: {','.join(HEADER)}")
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            if len(fields) != len(header):
                raise TotalsError(f"{name}, line {reader.line_num}: {len(fields)} fields, the header has {len(header)}")
            yield reader.line_num, {column: field.strip() for column, field in zip(header, fields, strict=True)}
    except csv.Error as error:
        raise TotalsError(f"{name}, line {reader.line_num}: no CSV: {error}") from None


def _total(fields: dict[str, str], where: str) -> Total:
    orders, amount = fields["orders"], fields["amount"]
    if not orders and not amount:
        raise TotalsError(f"{where}, columns orders and amount: one of them must be stated")
    if not _WHOLE.fullmatch(fields["store_id"]) or int(fields["store_id"]) > _LARGEST_ID:
        raise TotalsError(f"{where}, column store_id: not an id; give one integer")
    if orders and not _WHOLE.fullmatch(orders):
        raise TotalsError(f"{where}, column orders: not a whole number of orders")
    if amount and not _AMOUNT.fullmatch(amount):
        raise TotalsError(
            f"{where}, column amount: not an amount such as 1234.50: a point, at most four decimals, no separators"
        )
    if fields["amount_field"] not in MONEY_PARTS:
        raise TotalsError(f"{where}, column amount_field: must be one of {', '.join(MONEY_PARTS)}")
    return Total(
        _day(fields["day"], where),
        int(fields["store_id"]),
        int(orders) if orders else None,
        Decimal(amount).quantize(Decimal("0.0001")) if amount else None,
        fields["amount_field"],
        _classes(fields["sale_classes"], where),
    )


def _day(text: str, where: str) -> dt.date:
    try:
        return dt.datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        raise TotalsError(f"{where}, column day: not a day such as 2026-10-31") from None


def _classes(text: str, where: str) -> str:
    if text == "all":
        return "+".join(sorted(SALE_CLASSES))
    names = [name.strip() for name in text.split("+")]
    if not set(names) <= set(SALE_CLASSES) or len(set(names)) != len(names):
        raise TotalsError(
            f"{where}, column sale_classes: must be all, or some of {', '.join(SALE_CLASSES)} joined by +"
        )
    return "+".join(sorted(names))
