"""Append statements and a bank's payouts to the ledger, and say which are effective.

| act | body | rows |
|---|---|---|
| statement | platform, order_platforms, file, sha256, mapping_sha256, due_days, window_minutes, short_modulus, \
timezone, statements: [{ref, rows, lines, amounts by currency, first_day, last_day, stores}], \
payouts: [{statement_ref, payout_ref, currency, amount}] of rows among the lines, replaces: [entry numbers] | LINES |
| statement_heads | platform, file, sha256, mapping_sha256, key: statement_ref or payout_ref, refs | LINES: a row each |
| bank | platform, file, sha256, mapping_sha256, first_day, last_day, row_count, replaces | CREDITS |
| import_undone | entry_no, reason, uid, as | |

`undoes`, of both, names entries of the same file by another mapping. What they and `import_undone` name is as if it had
never been imported. A statement is effective until a later entry has one of the same platform and reference. One
without a reference is the whole file; it is effective until an entry replaces it. The same file is refused, and so is
what an effective statement or bank file already has, unless it is to supersede it. Of each credit of a bank's file, CSV
by the mapping or camt.053, whose text names a payout reference, day, amount and currency are kept; texts and other rows
are not.
"""

import datetime as dt
import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.landing.exact import YEARS
from pipelines.ledger import Ledger, LedgerEntry, User
from pipelines.settlements.lines import (
    BALANCES,
    LINES,
    CellRef,
    Records,
    SettlementError,
    amount_reader,
    currency_reader,
    day_reader,
    header_index,
    read_statements,
    records_of,
    sha256_of,
)
from pipelines.settlements.mapping import (
    Bank,
    LoadedMapping,
    MappingError,
    StoreColumn,
    first_groups,
    short_modulus,
    signed,
)

STATEMENT, HEADS, BANK, UNDONE = "statement", "statement_heads", "bank", "import_undone"
ACTS = (STATEMENT, HEADS, BANK)


class ImportedStatement(NamedTuple):
    """What an import did with a file: its entry, or None if the ledger has the file; rows, and what it replaced."""

    file: str
    entry_no: int | None
    statement_count: int
    row_count: int
    replaced: int
    changes: tuple[str, ...] = ()  # by component, of a file that was imported by another mapping before
    nobodys: tuple[str, ...] = ()  # stores that the mapping's file does not list on the days of their rows


@dataclass(frozen=True)
class Statement:
    """A statement, and the entry that has it."""

    entry: LedgerEntry
    platform: str
    ref: str | None
    rows: int
    lines: int
    amounts: dict[str, str]
    first_day: str
    last_day: str
    stores: list[str | None]

    @property
    def key(self) -> tuple[str, str]:
        """What a later statement that supersedes this one shares with it."""
        return self.platform, f"ref {self.ref}" if self.ref else f"entry {self.entry.no}"

    def is_replaced_by(self, platform: str, new: dict[str, Any]) -> bool:
        """Whether a new statement has the same reference or, without one, days of the same stores."""
        if self.platform != platform or self.ref != new["ref"]:
            return False
        is_overlapping = self.first_day <= new["last_day"] and new["first_day"] <= self.last_day
        return bool(self.ref) or (is_overlapping and bool({*self.stores} & {*new["stores"]}))


def _imports(entries: Iterable[LedgerEntry], act: str) -> list[LedgerEntry]:
    """Return the imports that were not undone, oldest first."""
    of_imports = [entry for entry in entries if entry.act in (*ACTS, UNDONE)]
    undone: set[int] = set()
    for entry in reversed(of_imports):
        if entry.no not in undone:
            undone |= {entry.body["entry_no"]} if entry.act == UNDONE else {*entry.body.get("undoes", ())}
    return [entry for entry in of_imports if entry.act == act and entry.no not in undone]


def undo_import(ledger: Ledger, entry_no: int, reason: str, user: User) -> LedgerEntry:
    """Record that an import is as if it had never been; raise SettlementError if it is none, or undone already."""
    found = [entry for act in ACTS for entry in _imports(ledger.entries(), act)]
    if entry_no not in {entry.no for entry in found}:
        advice = "see `ordermart settlements list`"
        raise SettlementError(f"ledger entry {entry_no} is not an import, or was undone: {advice}")
    return ledger.append(UNDONE, {"entry_no": entry_no, "reason": reason, **user.body})


def effective_statements(entries: Iterable[LedgerEntry]) -> list[Statement]:
    """Return the effective statements, oldest entry first.

    What an import replaces is found again, not only read from its entry: without one that was undone since, it replaces
    what that one had replaced.
    """
    found: dict[tuple[str, str], Statement] = {}
    for entry in _imports(entries, STATEMENT):
        platform, new = entry.body["platform"], entry.body["statements"]
        found = {
            key: each
            for key, each in found.items()
            if (each.ref or each.entry.no not in entry.body["replaces"])
            and not any(each.is_replaced_by(platform, one) for one in new)
        }
        for each in (Statement(entry, entry.body["platform"], **each) for each in entry.body["statements"]):
            found.pop(each.key, None)
            found[each.key] = each
    return list(found.values())


def effective_banks(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Return the entries of the effective files of banks, oldest first; what each replaces as of statements."""
    found: list[LedgerEntry] = []
    for new in _imports(entries, BANK):
        found = [one for one in found if one.no not in new.body["replaces"] and not _shares_days(one.body, new.body)]
        found.append(new)
    return found


def _shares_days(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two files of banks have days of one platform in common."""
    is_overlapping = one["first_day"] <= other["last_day"] and other["first_day"] <= one["last_day"]
    return bool(one["platform"] == other["platform"] and is_overlapping)


def _heads(ledger: Ledger) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield platform, key and row of each statement and payout that files state; later rows replace earlier ones."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for entry in _imports(ledger.entries(), HEADS):
        rows = ledger.rows(entry).to_pylist()
        for ref in entry.body["refs"]:
            key = entry.body["key"]
            found[entry.body["platform"], key, ref] = [row for row in rows if row[key] == ref]
    for (platform, key, _), rows in found.items():
        yield from ((platform, key, row) for row in rows)


def stated_of_statements(ledger: Ledger) -> list[dict[str, Any]]:
    """Return what files state of each statement, and its platform's entries; what it pays may be of several payouts."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for platform, key, row in sorted(_heads(ledger), key=lambda each: each[1] == "payout_ref"):
        at = platform, row["statement_ref"], row["currency"]
        paid = row["paid"] if key == "statement_ref" else row["amount"]
        known = found.setdefault(at, row | {"of": key, "paid": 0, "payouts": set()})
        known["paid"] += paid if known["of"] == key else 0
        known["payouts"] |= {row["payout_ref"]} - {None}
    entries = [(entry.body["platform"], entry.no) for entry in ledger.entries(STATEMENT)]
    return [
        row
        | {"payout_ref": min(row["payouts"]) if len(row["payouts"]) == 1 else None}
        | {"entries": [no for platform, no in entries if platform == at[0]]}
        for at, row in found.items()
    ]


def stated_payouts(ledger: Ledger) -> list[tuple[Any, ...]]:
    """Return rows of raw.settlement_payouts: of files of payouts, else of statements, else of rows among the lines."""
    found: dict[tuple[str, str], list[tuple[Any, ...]]] = {}

    def take(place: str, platform: str, row: dict[str, Any], amount: Decimal) -> None:
        of = platform, row["statement_ref"], row["payout_ref"], row["currency"], row.get("line_date"), amount
        known = found.setdefault((platform, row["payout_ref"]), [(place,)])
        known += [of] if known[0] == (place,) else []

    for platform, key, row in sorted(_heads(ledger), key=lambda each: each[1] == "statement_ref"):
        if row["payout_ref"]:
            take(key, platform, row, row["amount"] if key == "payout_ref" else row["paid"])
    for each in effective_statements(ledger.entries()):
        for row in each.entry.body.get("payouts", ()):
            if row["statement_ref"] == each.ref:
                take("", each.platform, row, Decimal(row["amount"]))
    return [row for _, *rows in found.values() for row in rows]


def import_statements(
    ledger: Ledger, path: Path, read: LoadedMapping, *, supersede: bool = False
) -> list[ImportedStatement]:
    """Append a file, or each new one of a folder that the mapping knows, after all are read; raise SettlementError."""
    of = read.mapping
    files = _files(path, [each.names for each in (of.file, of.statements, of.payouts) if each])
    known = _known(ledger, read, is_corrected=supersede)
    if path.is_file() and (entry_no := known.get(sha256_of(_content(path)))):
        raise SettlementError(_known_before(path, entry_no))
    contents = [(file, content) for file in files if sha256_of(content := _content(file)) not in known]
    ready = []
    for file, content in contents:
        key, mapping = of.heads_of(file.name) or ("", of)
        of_part = msgspec.structs.replace(read, mapping=mapping)
        ready.append((file, content, key, read_statements(content, file.name, of_part)))
    done = [ImportedStatement(file.name, None, 0, 0, 0) for file in files if file not in {each for each, *_ in ready}]
    return done + [
        _append_heads(ledger, file.name, content, lines, key, read, supersede=supersede)
        if key
        else _append(ledger, file.name, content, lines, paid, read, supersede=supersede)
        for file, content, key, (lines, paid) in ready
    ]


def import_bank(ledger: Ledger, file: Path, read: LoadedMapping, *, supersede: bool = False) -> ImportedStatement:
    """Append a bank's file: of its rows those that name a payout of the platform."""
    content = _content(file)
    if entry_no := _known(ledger, read, is_corrected=supersede).get(sha256_of(content)):
        raise SettlementError(_known_before(file, entry_no))
    payouts = read_bank(content, file.name, read)
    table = _with_currency(payouts.table, file.name, read, effective_statements(ledger.entries()), ledger)
    days = {"first_day": payouts.first_day.isoformat(), "last_day": payouts.last_day.isoformat()}
    body: dict[str, Any] = {**_origin(file.name, content, read, ledger), **days, "row_count": payouts.row_count}
    entries = [entry for entry in ledger.entries() if entry.no not in body["undoes"]]
    same = [entry.no for entry in effective_banks(entries) if _shares_days(entry.body, body)]
    if same and not supersede:
        raise SettlementError(f"{file.name}: ledger entry {same[0]} has some of its days; --supersede replaces it")
    entry = ledger.append(BANK, body | {"replaces": same}, table)
    changes = _changes(ledger, body["undoes"], table)
    return ImportedStatement(file.name, entry.no, 0, table.num_rows, len(same) + len(body["undoes"]), changes)


def _with_currency(table: pa.Table, name: str, read: LoadedMapping, known: list[Statement], ledger: Ledger) -> pa.Table:
    """Return credits with the currency of their payout, else the one of all statements, where the file has none."""
    if not table["currency"].null_count:
        return table
    stated: dict[str | None, set[str]] = {None: set()}
    for entry in {each.entry.no: each.entry for each in known if each.platform == read.mapping.platform}.values():
        rows = ledger.rows(entry).select(["payout_ref", "settled_currency"])
        for row in rows.group_by(rows.column_names).aggregate([]).to_pylist():
            for ref in (row["payout_ref"], None):
                stated.setdefault(ref, set()).add(row["settled_currency"])
    line = read.mapping.line
    if not stated[None] and line and isinstance(line.currency, str) and not line.settled_currency:
        stated[None].add(line.currency)
    rows = table.to_pylist()
    for row in rows:
        found = stated.get(row["payout_ref"]) or stated[None]
        if not row["currency"] and len(found) != 1:
            where = CellRef(name, row["source_row"], "currency")
            raise where.refused("is not stated, and not one of the platform's statements: add currency to [bank]")
        row["currency"] = row["currency"] or next(iter(found))
    return pa.Table.from_pylist(rows, schema=CREDITS)


def _append_heads(
    ledger: Ledger, name: str, content: bytes, lines: pa.Table, key: str, read: LoadedMapping, *, supersede: bool
) -> ImportedStatement:
    refs = lines[key].to_pylist()
    if None in refs:
        raise CellRef(name, lines["source_row"][refs.index(None)].as_py(), key.removesuffix("_ref")).refused("is empty")
    body: dict[str, Any] = _origin(name, content, read, ledger) | {"key": key, "refs": sorted({*refs})}
    others = (each for each in _imports(ledger.entries(), HEADS) if each.no not in body["undoes"])
    alike = (each for each in others if (each.body["platform"], each.body["key"]) == (body["platform"], key))
    same = [each.no for each in alike if {*each.body["refs"]} & {*refs}]
    if same and not supersede:
        raise SettlementError(f"{name}: ledger entry {same[0]} has some of its rows; --supersede replaces them")
    entry = ledger.append(HEADS, body, lines)
    changes = _changes(ledger, body["undoes"], lines)
    return ImportedStatement(name, entry.no, 0, lines.num_rows, len(same) + len(body["undoes"]), changes)


def _append(
    ledger: Ledger,
    name: str,
    content: bytes,
    lines: pa.Table,
    paid: list[dict[str, Any]],
    read: LoadedMapping,
    *,
    supersede: bool,
) -> ImportedStatement:
    mapping = read.mapping
    described = [_described(lines, ref) for ref in pc.unique(lines["statement_ref"]).to_pylist()]
    body: dict[str, Any] = _origin(name, content, read, ledger)
    body |= {"order_platforms": mapping.orders.platform, "due_days": mapping.due_days}
    body |= {"window_minutes": mapping.line.window_minutes, "short_modulus": short_modulus(mapping)}
    body |= {"timezone": mapping.file.timezone, "statements": described, "payouts": paid}
    old = effective_statements(entry for entry in ledger.entries() if entry.no not in body["undoes"])
    replaced = [each for each in old if any(each.is_replaced_by(mapping.platform, new) for new in described)]
    if replaced and not supersede:
        what = f"statement {replaced[0].ref}" if replaced[0].ref else "some of its days"
        raise SettlementError(f"{name}: ledger entry {replaced[0].entry.no} has {what}; --supersede replaces it")
    replaces = sorted(each.entry.no for each in replaced if not each.ref)
    entry = ledger.append(STATEMENT, body | {"replaces": replaces}, lines)
    count, changes = len(replaced) + len(body["undoes"]), _changes(ledger, body["undoes"], lines)
    is_listed = isinstance(mapping.line.store, StoreColumn) and bool(mapping.line.store.file)
    without = lines.filter(pc.is_null(lines["store_id"]))["store_ref"].drop_null()
    nobodys = pc.unique(without).to_pylist() if is_listed else ()
    rows = sum(each["rows"] for each in described)
    return ImportedStatement(name, entry.no, len(described), rows, count, changes, tuple(sorted(nobodys)))


def _changes(ledger: Ledger, undone: list[int], table: pa.Table) -> tuple[str, ...]:
    """Return what a corrected mapping changes: count and sum by component, if there are any, and currency."""
    keys = [key for key in ("component", "currency") if key in table.column_names]
    tables = [table, *(ledger.rows(entry) for entry in ledger.entries() if entry.no in undone)]
    figures = [("amount", "count"), ("amount", "sum")]
    sums = [each.group_by(keys).aggregate(figures).to_pylist() for each in tables]
    said = "{amount_count:,} of {amount_sum:,.2f}"
    new, *old = [{" ".join(str(row[key]) for key in keys): said.format(**row) for row in rows} for rows in sums]
    return tuple(
        f"{key}: {before.get(key, 'none')}, now {new.get(key, 'none')}"
        for before in old
        for key in sorted(new.keys() | before.keys())
        if before.get(key) != new.get(key)
    )


def _described(lines: pa.Table, ref: str | None) -> dict[str, Any]:
    """Return what an entry's body says of one statement: counts and sums that tables are compared with."""
    own = lines.filter(pc.is_null(lines["statement_ref"]) if ref is None else pc.equal(lines["statement_ref"], ref))
    sums = own.group_by("currency").aggregate([("amount", "sum")]).to_pylist()
    first = pc.min(pc.coalesce(own["period_from"], own["line_date"])).as_py()
    counts = {"rows": pc.count_distinct(own["source_row"]).as_py(), "lines": own.num_rows}
    amounts = {each["currency"]: str(each["amount_sum"]) for each in sums}
    days = {"first_day": first.isoformat(), "last_day": pc.max(own["line_date"]).as_py().isoformat()}
    stores = sorted(pc.unique(own["store_ref"]).to_pylist(), key=str)
    return {"ref": ref, **counts, "amounts": amounts, **days, "stores": stores}


def _origin(name: str, content: bytes, read: LoadedMapping, ledger: Ledger) -> dict[str, Any]:
    sha256, platform = sha256_of(content), read.mapping.platform
    old = [entry for act in ACTS for entry in _imports(ledger.entries(), act) if entry.body["sha256"] == sha256]
    undoes = [entry.no for entry in old if entry.body["platform"] == platform]
    of_file = {"file": name, "sha256": sha256, "mapping_sha256": read.sha256}
    return {"undoes": undoes, "platform": platform, **of_file}


def _known(ledger: Ledger, read: LoadedMapping, *, is_corrected: bool) -> dict[str, int]:
    """Return hash → entry of each file imported for a platform, a corrected one only if by the same mapping."""
    found = (entry for act in ACTS for entry in _imports(ledger.entries(), act))
    own = (each for each in found if each.body["platform"] == read.mapping.platform)
    alike = (each for each in own if not is_corrected or each.body["mapping_sha256"] == read.sha256)
    return {each.body["sha256"]: each.no for each in alike}


def _known_before(file: Path, entry_no: int) -> str:
    return f"{file.name} was imported before, as ledger entry {entry_no}; another mapping of it needs --supersede"


def _files(path: Path, names: list[str]) -> list[Path]:
    if not path.is_dir():
        return [path]
    inside = (each for each in path.iterdir() if each.is_file())
    files = sorted(each for each in inside if any(fnmatch.fnmatch(each.name, name) for name in names))
    if not files:
        raise SettlementError(f"{path} has no file named {' or '.join(names)}")
    return files


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SettlementError(f"{file}: cannot be read: {error.strerror}") from None


_OF_LINES = ("statement_ref", "payout_ref", "currency", *BALANCES)
STATED = pa.schema([*map(LINES.field, _OF_LINES), ("entries", pa.list_(pa.int64()))])
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


def read_bank(content: bytes, name: str, read: LoadedMapping) -> Credits:
    """Return the platform's payouts in a bank's file; raise SettlementError, which names row and column."""
    if (bank := read.mapping.bank) is None:
        raise MappingError("the mapping has no [bank]")
    is_xml = content.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<")
    if bank.format and is_xml is not (bank.format == "camt.053"):
        raise SettlementError(f"{name} is not {bank.format}, as [bank] format says")
    rows = list(_camt(content, name) if is_xml else _csv(content, name, bank, read.mapping.file.timezone))
    if not rows:
        raise SettlementError(f"{name} has no booked entries")
    found = first_groups(bank.payout, [row.text for row in rows])
    named = [(row, ref) for row, ref in zip(rows, found, strict=True) if ref is not None]
    credits_ = [dict(zip(CREDITS.names, (row.number, ref, *row[1:-1]), strict=True)) for row, ref in named]
    table = pa.Table.from_pylist(credits_, schema=CREDITS)
    days = [row.day for row in rows]
    return Credits(table, min(days), max(days), len(rows))


def _csv(content: bytes, name: str, bank: Bank, zone: str) -> Iterator[_Row]:
    if bank.date is None or not bank.amount or not bank.text:
        raise MappingError("[bank] needs date, amount and text for a CSV file")
    records = records_of(content, name, bank)
    day, text = day_reader(records, bank.date, name, zone), header_index(records, bank.text, name)
    amount, fee = (_amounts(records, column, name, bank) for column in (bank.amount, bank.fee))
    currency = currency_reader(records, bank.currency, name) if bank.currency else None
    for number, cells in records.rows:
        of = currency(number, cells) if currency else ""
        found, value = day(number, cells), amount(number, cells, of)
        if found is None or value is None:
            raise CellRef(name, number, bank.date.column if found is None else bank.amount).refused("has no value")
        yield _Row(number, found.date(), of or None, value, fee(number, cells, of) or Decimal(0), cells[text])


def _amounts(records: Records, stated: str, name: str, bank: Bank) -> Callable[[int, list[str], str], Decimal | None]:
    """Return a function that gives a row's amount in a column with a sign; None if there is none."""
    if not stated:
        return lambda _number, _cells, _currency: None
    ((sign, column),), read = signed(stated), amount_reader(bank.decimal, bank.thousands)
    place = header_index(records, column, name)

    def amount(number: int, cells: list[str], currency: str) -> Decimal | None:
        value = read(cells[place], CellRef(name, number, column), currency)
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
            where = CellRef(name, number, "Ntry")
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
            opening, closing = (_signed(balances[kind], CellRef(name, number, "Bal")) for kind in ("OPBD", "CLBD"))
            if opening + moved != closing:
                raise SettlementError(f"{name}: opening balance and entries do not add up to the closing balance")


def _fee(entry: ET.Element, part: ET.Element, amount: Decimal, where: CellRef) -> Decimal:
    """Return the amount that the bank kept: charges within a transaction, or the whole of an entry that is a charge.

    Banks repeat charges of an entry's one transaction in the entry. Without a record they are within the amount, too.
    """
    if _first_text(entry, "BkTxCd/Domn/Fmly/SubFmlyCd") in _CHARGES:
        return -amount
    charges = part.findall("NtryDtls/TxDtls/Chrgs") or part.findall("Chrgs")
    stated = (each.findall("Rcrd") or [each] for each in charges)
    records = [record for each in stated for record in each if record.find("Amt") is not None]
    within = (each for each in records if each in charges or each.findtext("ChrgInclInd") in {"true", "1"})
    same = (each for each in within if _currency(each, where) == _currency(entry, where))
    kept = (_decimal(each.find("Amt"), where) * (-1 if each.findtext("CdtDbtInd") == "CRDT" else 1) for each in same)
    return sum(kept, Decimal(0))


def _sign(element: ET.Element) -> int:
    return -1 if element.findtext("CdtDbtInd") == "DBIT" else 1


def _signed(element: ET.Element, where: CellRef) -> Decimal:
    return _sign(element) * _decimal(element.find("Amt"), where)


def _decimal(element: ET.Element | None, where: CellRef) -> Decimal:
    text = (element.text or "").strip() if element is not None else ""
    if not _DECIMALS.fullmatch(text):
        raise where.refused("has no amount")
    return Decimal(text)


def _day(entry: ET.Element, where: CellRef) -> dt.date:
    text = _first_text(entry, "BookgDt/Dt", "BookgDt/DtTm")
    with suppress(ValueError):
        if (day := dt.date.fromisoformat(text[:10])).year in YEARS:
            return day
    raise where.refused("has no booking date")


def _currency(entry: ET.Element, where: CellRef) -> str:
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
