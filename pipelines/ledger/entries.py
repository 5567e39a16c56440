"""Entries of the ledger by what they say: closes of days, decisions of people, control totals.

| act | body | rows |
|---|---|---|
| closed | days: [{day, stores, period}], period, order_count, indeterminate, day_hashes, exceptions, release, \
settings, rules, code, uid, as; prepared_entry_no where somebody else prepared it | CLOSED_ORDERS |
| prepared | as closed, with a fingerprint of its orders; a close that another user approves | |
| reopened | day, store_id (null: all), reason, uid, as; of reversals: restatement_count | REVERSALS |
| restated | release (null), settings, rules, code | RESTATEMENTS |
| posted | period, restatement_count | POSTINGS |

`stores` null means every store without a close of its own. A close is active from `closed` until `reopened`. The period
of a closed day is the one whose books have it; older entries name one for all days, or mean each day's month. Posted
restatements of a day that is reopened are reversed in the same entry; older ones name one period for all rows, in their
body.

The closed orders of a day are hashed so that Python's standard library can compute the same from closes.csv, as
`report/verify_audit_pack.py` does. A row is the texts of its columns, null as "", amounts with four decimals, as a JSON
array, and of a charge that a later release added its name and amount, if the order states it, so that what was hashed
before has the same hash. The hash of a day is the SHA-256 of its rows by order id, each followed by a line feed.

Entries about what people decided: of breaks, of store-days without orders, of personal data; and who they are.

| act | body |
|---|---|
| break_accepted | breaks: [{key, content, account_class, currency, residuals, …}], reason, uid, as |
| break_assigned | keys, assignee, uid, as |
| break_commented | keys, comment, uid, as |
| no_orders_accepted | days: [{day, store_id}], reason, uid, as |
| erased | found_by, customer_sha256: [hash of each customer's random key], order_ids, uid, as; \
copied_from: the hash of the entry that was applied again after a restore |
| revealed | order_id, reason, uid, as |
| fields_revealed | reason, field_count, uid, as |
| exported | found_by, customer_sha256, version_count, uid, as |
| no_erasures_since | backup: the name of the one that was restored, reason, uid, as |
| unsigned_restored | backup: the name of one whose manifest has no valid signature, reason, uid, as |
| head_accepted | entries, sha256: the chain that a person confirmed, whose kept head was lost, reason, uid, as |
| vault_rotated | rotated_at, customer_count, version_count, uid, as |

A break is called by a key such as `order:1`; older entries have an `order_id` or `order_ids` instead. `content` is a
hash of the amounts of a break: it is accepted as long as it has that content. `account_class`, if named, is where a
journal writes the residual off. None of them contains personal data.

Control totals are order counts and amounts of a store-day from another source. A later import for the same day, store,
amount field and sale classes replaces the earlier one, which stays in the chain.
"""

import csv
import datetime as dt
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from pipelines.landing.shape import OPTIONAL, PRICES, REQUIRED_PRICES
from pipelines.ledger.chain import Ledger, LedgerEntry, LedgerError
from pipelines.literals import unmarked

CLOSED, REOPENED, RESTATED, POSTED = "closed", "reopened", "restated", "posted"
PREPARED = "prepared"
_MONEY, _SUM = pa.decimal128(18, 4), pa.decimal128(38, 4)
_INSTANT = pa.timestamp("us", tz="UTC")


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    """Return a schema from names and their type, in order."""
    return pa.schema([(name, kind) for names, kind in columns for name in names.split()])


# The parts of a total by the rule in force, with signs; with the residual they are the total stated. Null without a
# rule. And the content by which people accept the order's break.
_TOTAL = (
    ("total_parts", pa.list_(pa.string())),
    ("total_part_amounts", pa.list_(_SUM)),
    ("total_residual", _SUM),
    ("break_content", pa.string()),
)
CLOSED_ORDERS = _schema(
    ("order_id store_id", pa.int64()),
    ("business_date", pa.date32()),
    ("sale_class status currency timezone payload_sha256", pa.string()),
    ("fetched_at last_checked_at", _INSTANT),
    (" ".join(PRICES), _MONEY),
    ("line_amount", _SUM),
    # what it was valued by: until the day is reopened these rules hold for it
    ("line_rule", pa.string()),
    ("line_open_parts", pa.list_(pa.int64())),
    ("subtotal_basis total_rule total_basis", pa.string()),
    # for journals; rows of older closes lack these
    ("platform", pa.string()),
    *_TOTAL,
)
RESTATEMENTS = _schema(
    ("restatement_no close_entry_no order_id store_id", pa.int64()),
    ("business_date", pa.date32()),
    ("sale_class measure currency", pa.string()),
    ("closed_amount prior_restated_amount current_amount restatement_amount", _SUM),
    ("cause", pa.string()),
    ("detected_at", _INSTANT),
    ("current_business_date", pa.date32()),
    ("current_sale_class current_timezone current_payload_sha256", pa.string()),
    ("current_fetched_at", _INSTANT),
    ("current_store_id", pa.int64()),
    ("platform total_rule", pa.string()),
    *_TOTAL,  # of the order as it is now, here: no parts once it has left
)
POSTINGS = _schema(("restatement_no", pa.int64()))
REVERSALS = _schema(("restatement_no", pa.int64()), ("period", pa.string()))
AMOUNTS = (*REQUIRED_PRICES, "line_amount")
LATER = tuple(charge.name for charge in OPTIONAL)
HASHED = ("order_id", "store_id", "business_date", "sale_class", "status", "currency", "payload_sha256", *AMOUNTS)


@dataclass(frozen=True)
class DayClose:
    """The active close (None: reopened) of a day, of a store or all without their own; its books are `period`'s."""

    day: dt.date
    store_id: int | None
    close_entry_no: int | None
    period: str | None

    @property
    def is_every_store(self) -> bool:
        """Whether it covers every store without a row of its own."""
        return self.store_id is None


@dataclass
class _Day:
    every: int | None = None
    own: dict[int, int | None] = field(default_factory=dict)


class Closes:
    """Which close is active for which day and store, from all entries of a ledger."""

    def __init__(self, entries: Iterable[LedgerEntry]) -> None:
        self._days: dict[dt.date, _Day] = {}
        self.closed: dict[int, LedgerEntry] = {}
        self._periods: dict[tuple[int | None, dt.date], str] = {}
        for entry in entries:
            if entry.act == CLOSED:
                self.closed[entry.no] = entry
                for closed in entry.body["days"]:
                    day = dt.date.fromisoformat(closed["day"])
                    self._close(entry.no, day, closed["stores"])
                    period = closed.get("period") or entry.body.get("period") or f"{day:%Y-%m}"
                    self._periods[entry.no, day] = period
            elif entry.act == REOPENED:
                self.reopen(dt.date.fromisoformat(entry.body["day"]), entry.body["store_id"])

    def of(self, day: dt.date, store_id: int | None) -> int | None:
        """Return the entry number of a store-day's active close; store None: of stores without a close of their own."""
        found = self._days.get(day, _Day())
        return found.every if store_id is None else found.own.get(store_id, found.every)

    def unclosed_stores(self, day: dt.date, store_id: int | None) -> list[int] | None:
        """Return the stores that closing this day would close: None for every one without a close, [] for none."""
        if store_id is not None:
            return [] if self.of(day, store_id) else [store_id]
        found = self._days.get(day, _Day())
        return None if found.every is None else sorted(store for store, no in found.own.items() if no is None)

    def is_closed(self, day: dt.date) -> bool:
        """Whether the day is closed for every store."""
        return self.unclosed_stores(day, None) == []

    def separately_closed_stores(self, day: dt.date) -> list[int]:
        """Return the stores with an active close of their own, which closing the day leaves as it is."""
        return sorted(store for store, no in self._days.get(day, _Day()).own.items() if no is not None)

    def is_any(self, day: dt.date, store_id: int | None) -> bool:
        """Whether any close of that day is active: of that store if one is given."""
        if store_id is not None:
            return self.of(day, store_id) is not None
        found = self._days.get(day, _Day())
        return found.every is not None or any(no is not None for no in found.own.values())

    def rows(self) -> Iterator[DayClose]:
        """Yield the closes by day: those of single stores, then the one of every other store."""
        for day, found in sorted(self._days.items()):
            for store_id, no in sorted(found.own.items()):
                yield DayClose(day, store_id, no, self._periods.get((no, day)))
            if found.every is not None:
                yield DayClose(day, None, found.every, self._periods[found.every, day])

    def reopen(self, day: dt.date, store_id: int | None) -> None:
        """Take the close of a day, or of a store's day, for reopened from here on."""
        found = self._days.setdefault(day, _Day())
        if store_id is None:
            found.every, found.own = None, {}
        else:
            found.own[store_id] = None

    def _close(self, no: int, day: dt.date, stores: list[int] | None) -> None:
        found = self._days.setdefault(day, _Day())
        if stores is None:
            found.every = no
            found.own = {store: own for store, own in found.own.items() if own is not None}
        else:
            found.own |= dict.fromkeys(stores, no)


def day_hashes(rows: pa.Table) -> list[dict[str, Any]]:
    """Return of each day among closed orders: day, order_count, the amounts by currency, and rows_sha256."""
    days: dict[dt.date, list[dict[str, Any]]] = {}
    for row in rows.select([*HASHED, *LATER]).to_pylist():
        days.setdefault(row["business_date"], []).append(row)
    return [
        {"day": day.isoformat(), "order_count": len(found), "amounts": _amounts(found), "rows_sha256": _hash(found)}
        for day, found in sorted(days.items())
    ]


def _hash(rows: Iterable[dict[str, Any]]) -> str:
    digest = hashlib.sha256()
    for row in sorted(rows, key=lambda row: int(row["order_id"])):
        texts = [_text(row[name]) for name in HASHED]
        texts += [f"{name} {_text(row[name])}" for name in LATER if row[name] is not None]
        digest.update(json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _amounts(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return currency → amount → exact sum of known amounts, as text."""
    sums: dict[str, dict[str, Decimal]] = {}
    for row in rows:
        of_currency = sums.setdefault(row["currency"] or "", {})
        for name in (*AMOUNTS, *LATER):
            if row[name] is not None:
                of_currency[name] = of_currency.get(name, Decimal(0)) + row[name]
    return {currency: {name: _text(amount) for name, amount in each.items()} for currency, each in sums.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, Decimal) else str(value)


ACCEPTED, ASSIGNED, COMMENTED = "break_accepted", "break_assigned", "break_commented"
NO_ORDERS = "no_orders_accepted"
ERASED, REVEALED, EXPORTED, ROTATED = "erased", "revealed", "exported", "vault_rotated"
FIELDS_REVEALED = "fields_revealed"
NO_ERASURES = "no_erasures_since"
UNSIGNED = "unsigned_restored"
HEAD_ACCEPTED = "head_accepted"
FoundBy = Literal["order_id", "phone", "email"]


@dataclass
class Decisions:
    """What was decided of one break: the last acceptance and assignment, and every comment."""

    accepted: LedgerEntry | None = None
    content: str | None = None
    account_class: str | None = None
    assignee: str | None = None
    comments: list[LedgerEntry] = field(default_factory=list)


def order_key(order_id: int | str) -> str:
    """Return the key of the break of an order's prices."""
    return f"order:{order_id}"


def break_key(record: dict[str, Any]) -> str:
    """Return the key of a break as an entry, also an older one, names it."""
    return str(record.get("key") or order_key(record["order_id"]))


def decisions(entries: Iterable[LedgerEntry]) -> dict[str, Decisions]:
    """Return key of a break → decisions, from all entries of a ledger."""
    found: dict[str, Decisions] = {}
    for entry in entries:
        if entry.act == ACCEPTED:
            for accepted in entry.body["breaks"]:
                decided = found.setdefault(break_key(accepted), Decisions())
                decided.accepted, decided.content = entry, accepted["content"]
                decided.account_class = accepted.get("account_class")
        elif entry.act in {ASSIGNED, COMMENTED}:
            for key in entry.body.get("keys") or map(order_key, entry.body["order_ids"]):
                decided = found.setdefault(key, Decisions())
                if entry.act == ASSIGNED:
                    decided.assignee = entry.body["assignee"]
                else:
                    decided.comments.append(entry)
    return found


def written_off(entries: Iterable[LedgerEntry]) -> dict[tuple[str, str], str | None]:
    """Return (key, content) → account class of every break that was ever accepted; None: accepted without one."""
    accepted = (each for entry in entries if entry.act == ACCEPTED for each in entry.body["breaks"])
    return {(break_key(each), each["content"]): each.get("account_class") for each in accepted}


def accepted_without_orders(entries: Iterable[LedgerEntry]) -> set[tuple[dt.date, int]]:
    """Return the store-days that were accepted without orders."""
    accepted = (each for entry in entries if entry.act == NO_ORDERS for each in entry.body["days"])
    return {(dt.date.fromisoformat(each["day"]), each["store_id"]) for each in accepted}


def erasures(ledger: Ledger) -> list[LedgerEntry]:
    """Return the erasures of a ledger, in order."""
    return list(ledger.entries(ERASED))


def origin(entry: LedgerEntry) -> str:
    """Return the hash of the entry that an erasure was first recorded as, in this ledger or in one that was lost."""
    return str(entry.body.get("copied_from") or entry.sha256)


@dataclass(frozen=True)
class User:
    """The operating system's user id, and the name given with `--as`: the name proves nothing."""

    uid: int
    name: str = ""

    @property
    def body(self) -> dict[str, int | str | None]:
        """What an entry records beside the user name that the ledger writes itself."""
        return {"uid": self.uid, "as": self.name or None}


def current_user(name: str = "") -> User:
    """Return the user of the process; `name` is what they call themselves."""
    return User(os.getuid(), name.strip())


TOTALS_ACT = "totals"
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
    entry = ledger.append(TOTALS_ACT, body, rows)
    return ImportedTotals(entry.no, len(totals), sum(total.key in known for total in totals))


def effective_totals(ledger: Ledger) -> list[tuple[LedgerEntry, Total]]:
    """Return the effective control totals in the order of their keys, each with the entry that imported it."""
    effective: dict[tuple[dt.date, int, str, str], tuple[LedgerEntry, Total]] = {}
    for entry in ledger.entries(TOTALS_ACT):
        for row in ledger.rows(entry).to_pylist():
            total = Total(**row)
            effective[total.key] = (entry, total)
    return [effective[key] for key in sorted(effective)]


def read_totals(content: bytes, name: str) -> list[Total]:
    """Return the totals of a CSV file with the columns of HEADER; raise TotalsError naming line and column."""
    try:
        text = unmarked(content).decode()
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
        form = "at most four decimals, no thousands separators"
        raise TotalsError(f"{where}, column amount: must be like 1234.50: {form}")
    if fields["amount_field"] not in PRICES:
        raise TotalsError(f"{where}, column amount_field: must be one of {', '.join(PRICES)}")
    day, store_id = _business_date(fields["business_date"], where), int(fields["store_id"])
    count = int(order_count) if order_count else None
    exact = Decimal(amount).quantize(Decimal("0.0001")) if amount else None
    return Total(day, store_id, count, exact, fields["amount_field"], _classes(fields["sale_classes"], where))


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
