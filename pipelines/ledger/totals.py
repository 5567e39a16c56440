"""Control totals: order counts and amounts of a store-day from another source, imported into the ledger.

A later import for the same day, store, amount field and sale classes replaces the earlier one, which stays in the
chain.
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

from pipelines.landing.charges import PRICES
from pipelines.ledger.chain import Ledger, LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.ledger.chain import LedgerEntry

ACT = "totals"
SALE_CLASSES = ("counted", "excluded", "unmapped", "deleted")
HEADER = ("business_date", "store_id", "order_count", "amount", "amount_field", "sale_classes")
AMOUNT = pa.decimal128(38, 4)
SCHEMA = pa.schema(
    [
        pa.field("business_date", pa.date32(), nullable=False),
        pa.field("store_id", pa.int64(), nullable=False),
        pa.field("order_count", pa.int64()),
        pa.field("amount", AMOUNT),
        pa.field("amount_field", pa.string(), nullable=False),
        pa.field("sale_classes", pa.string(), nullable=False),
    ]
)
_AMOUNT = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,4})?", re.ASCII)
_ID = re.compile(r"[0-9]{1,19}", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,18}", re.ASCII)
_LARGEST_ID = 2**63 - 1


class TotalsError(LedgerError):
    """A control totals file is invalid; the message names the line and column."""


class Total(NamedTuple):
    """One control total. `order_count` or `amount` is None if not stated; `sale_classes` are sorted, joined by "+"."""

    business_date: dt.date
    store_id: int
    order_count: int | None
    amount: Decimal | None
    amount_field: str
    sale_classes: str

    @property
    def key(self) -> tuple[dt.date, int, str, str]:
        """Business date, store, amount field and sale classes: a later total with the same key replaces it."""
        return self.business_date, self.store_id, self.amount_field, self.sale_classes


class ImportedTotals(NamedTuple):
    """The result of an import: its entry number, how many totals it has, and how many earlier ones it replaced."""

    entry_no: int
    totals: int
    replaced: int


def import_totals(ledger: Ledger, file: Path) -> ImportedTotals:
    """Append the control totals of a CSV file to the ledger as one entry; raise TotalsError if any of it is invalid."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise TotalsError(f"{file}: cannot be read: {error.strerror}") from None
    totals = read_totals(content, file.name)
    known = {total.key for _, total in effective_totals(ledger)}
    rows = pa.Table.from_pylist([total._asdict() for total in totals], schema=SCHEMA)
    body = {"file": file.name, "sha256": hashlib.sha256(content).hexdigest(), "total_count": len(totals)}
    entry = ledger.append(ACT, body, rows)
    return ImportedTotals(entry.no, len(totals), sum(total.key in known for total in totals))


def effective_totals(ledger: Ledger) -> list[tuple[LedgerEntry, Total]]:
    """Return the effective control totals in the order of their keys, each with the entry that imported it."""
    effective: dict[tuple[dt.date, int, str, str], tuple[LedgerEntry, Total]] = {}
    for entry in ledger.entries(ACT):
        for row in ledger.rows(entry).to_pylist():
            total = Total(**row)
            effective[total.key] = (entry, total)
    return [effective[key] for key in sorted(effective)]


def read_totals(content: bytes, name: str) -> list[Total]:
    """Return the totals of a CSV file with the columns of HEADER, in any order; amounts are exact.

    Raise TotalsError naming line and column for invalid content.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TotalsError(f"{name} is not UTF-8: export it as UTF-8") from None
    totals: list[Total] = []
    lines: dict[tuple[dt.date, int, str, str], int] = {}
    for line, fields in _records(text, name):
        total = _total(fields, f"{name}, line {line}")
        if (before := lines.setdefault(total.key, line)) != line:
            raise TotalsError(f"{name}, line {line}: line {before} has the same date, store, field and classes")
        totals.append(total)
    if not totals:
        raise TotalsError(f"{name} has no totals, only a header")
    return totals


def _records(text: str, name: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = tuple(column.strip() for column in next(reader, ()))
        if sorted(header) != sorted(HEADER):
            raise TotalsError(f"{name}, line 1: the header must have these columns: {','.join(HEADER)}")
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            if len(fields) != len(header):
                raise TotalsError(f"{name}, line {reader.line_num}: {len(fields)} fields, the header has {len(header)}")
            yield reader.line_num, {column: field.strip() for column, field in zip(header, fields, strict=True)}
    except csv.Error as error:
        raise TotalsError(f"{name}, line {reader.line_num}: not valid CSV: {error}") from None


def _total(fields: dict[str, str], where: str) -> Total:
    order_count, amount = fields["order_count"], fields["amount"]
    if not order_count and not amount:
        raise TotalsError(f"{where}, columns order_count and amount: give at least one")
    if not _ID.fullmatch(fields["store_id"]) or int(fields["store_id"]) > _LARGEST_ID:
        raise TotalsError(f"{where}, column store_id: must be an integer id")
    if order_count and not _COUNT.fullmatch(order_count):
        raise TotalsError(f"{where}, column order_count: must be an integer")
    if amount and not _AMOUNT.fullmatch(amount):
        raise TotalsError(
            f"{where}, column amount: must be like 1234.50: at most four decimals, no thousands separators"
        )
    if fields["amount_field"] not in PRICES:
        raise TotalsError(f"{where}, column amount_field: must be one of {', '.join(PRICES)}")
    return Total(
        _business_date(fields["business_date"], where),
        int(fields["store_id"]),
        int(order_count) if order_count else None,
        Decimal(amount).quantize(Decimal("0.0001")) if amount else None,
        fields["amount_field"],
        _classes(fields["sale_classes"], where),
    )


def _business_date(text: str, where: str) -> dt.date:
    try:
        return dt.datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        raise TotalsError(f"{where}, column business_date: must be a date such as 2026-10-31") from None


def _classes(text: str, where: str) -> str:
    if text == "all":
        return "+".join(sorted(SALE_CLASSES))
    names = [name.strip() for name in text.split("+")]
    if not set(names) <= set(SALE_CLASSES) or len(set(names)) != len(names):
        raise TotalsError(f"{where}, column sale_classes: must be all, or {', '.join(SALE_CLASSES)} joined by +")
    return "+".join(sorted(names))
