"""Append statements and payouts to the ledger, and say which are effective.

| act | body | rows |
|---|---|---|
| statement | platform, order_platforms, file, sha256, mapping_sha256, due_days, window_minutes, short_modulus, \
timezone, statements: [{ref, rows, lines, amounts by currency, first_day, last_day, stores}], \
replaces: [entry numbers] | LINES |
| bank | platform, file, sha256, mapping_sha256, first_day, last_day, row_count, replaces | CREDITS |

A statement is effective until a later entry has one of the same platform and reference. One without a reference is the
whole file; it is effective until an entry replaces it. The same file is refused, and so is what an effective statement
or bank file already has, unless it is to supersede it.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc

from pipelines.settlements.bank import read_bank
from pipelines.settlements.lines import SettlementError, read_lines, sha256_of
from pipelines.settlements.mapping import short_modulus

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

    from pipelines.ledger import Entry, Ledger
    from pipelines.settlements.mapping import Read

STATEMENT, BANK = "statement", "bank"
ACTS = (STATEMENT, BANK)


class Imported(NamedTuple):
    """What an import did with a file: its entry, or None if the ledger has the file; rows, and what it replaced."""

    file: str
    entry_no: int | None
    statement_count: int
    row_count: int
    replaced: int


@dataclass(frozen=True)
class Statement:
    """A statement, and the entry that has it."""

    entry: Entry
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


def effective_statements(entries: Iterable[Entry]) -> list[Statement]:
    """Return the effective statements, oldest entry first."""
    found: dict[tuple[str, str], Statement] = {}
    for entry in entries:
        if entry.act == STATEMENT:
            for number in entry.body["replaces"]:
                found = {key: each for key, each in found.items() if key != (each.platform, f"entry {number}")}
            for each in (Statement(entry, entry.body["platform"], **each) for each in entry.body["statements"]):
                found.pop(each.key, None)
                found[each.key] = each
    return list(found.values())


def effective_banks(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries of the effective files of banks, oldest first."""
    banks = [entry for entry in entries if entry.act == BANK]
    replaced = {number for entry in banks for number in entry.body["replaces"]}
    return [entry for entry in banks if entry.no not in replaced]


def import_statements(ledger: Ledger, path: Path, read: Read, *, supersede: bool = False) -> list[Imported]:
    """Append a file, or each new file of a folder whose name the mapping knows, as one entry each.

    All files are read before the first is appended. Raise SettlementError if one is refused.
    """
    files = _files(path, read.mapping.file.names)
    known = _known(ledger, read.mapping.platform)
    if path.is_file() and (entry_no := known.get(sha256_of(_content(path)))):
        raise SettlementError(f"{path.name} was imported before, as ledger entry {entry_no}")
    contents = [(file, content) for file in files if sha256_of(content := _content(file)) not in known]
    ready = [(file, content, read_lines(content, file.name, read)) for file, content in contents]
    done = [Imported(file.name, None, 0, 0, 0) for file in files if file not in {each for each, *_ in ready}]
    return done + [
        _append(ledger, file.name, content, lines, read, supersede=supersede) for file, content, lines in ready
    ]


def import_bank(ledger: Ledger, file: Path, read: Read, *, supersede: bool = False) -> Imported:
    """Append a bank's file: of its rows those that name a payout of the platform."""
    content = _content(file)
    if entry_no := _known(ledger, read.mapping.platform).get(sha256_of(content)):
        raise SettlementError(f"{file.name} was imported before, as ledger entry {entry_no}")
    payouts = read_bank(content, file.name, read)
    days = {"first_day": payouts.first_day.isoformat(), "last_day": payouts.last_day.isoformat()}
    body = {**_origin(file.name, content, read), **days, "row_count": payouts.row_count}
    same = [
        entry.no
        for entry in effective_banks(ledger.entries())
        if entry.body["platform"] == body["platform"]
        and entry.body["first_day"] <= days["last_day"]
        and days["first_day"] <= entry.body["last_day"]
    ]
    if same and not supersede:
        raise SettlementError(f"{file.name}: ledger entry {same[0]} has some of its days; --supersede replaces it")
    entry = ledger.append(BANK, body | {"replaces": same}, payouts.table)
    return Imported(file.name, entry.no, 0, payouts.table.num_rows, len(same))


def _append(ledger: Ledger, name: str, content: bytes, lines: pa.Table, read: Read, *, supersede: bool) -> Imported:
    mapping = read.mapping
    described = [_described(lines, ref) for ref in pc.unique(lines["statement_ref"]).to_pylist()]
    body = {
        **_origin(name, content, read),
        "order_platforms": mapping.orders.platform,
        "due_days": mapping.due_days,
        "window_minutes": mapping.line.window_minutes,
        "short_modulus": short_modulus(mapping),
        "timezone": mapping.file.timezone,
        "statements": described,
    }
    old = effective_statements(ledger.entries())
    replaced = [each for each in old if any(each.is_replaced_by(mapping.platform, new) for new in described)]
    if replaced and not supersede:
        what = f"statement {replaced[0].ref}" if replaced[0].ref else "some of its days"
        raise SettlementError(f"{name}: ledger entry {replaced[0].entry.no} has {what}; --supersede replaces it")
    replaces = sorted(each.entry.no for each in replaced if not each.ref)
    entry = ledger.append(STATEMENT, body | {"replaces": replaces}, lines)
    return Imported(name, entry.no, len(described), sum(each["rows"] for each in described), len(replaced))


def _described(lines: pa.Table, ref: str | None) -> dict[str, Any]:
    """Return what an entry's body says of one statement: counts and sums that tables are compared with."""
    own = lines.filter(pc.is_null(lines["statement_ref"]) if ref is None else pc.equal(lines["statement_ref"], ref))
    sums = own.group_by("currency").aggregate([("amount", "sum")]).to_pylist()
    first = pc.min(pc.coalesce(own["period_from"], own["line_date"])).as_py()
    return {
        "ref": ref,
        "rows": pc.count_distinct(own["source_row"]).as_py(),
        "lines": own.num_rows,
        "amounts": {each["currency"]: str(each["amount_sum"]) for each in sums},
        "first_day": first.isoformat(),
        "last_day": pc.max(own["line_date"]).as_py().isoformat(),
        "stores": sorted(pc.unique(own["store_ref"]).to_pylist(), key=str),
    }


def _origin(name: str, content: bytes, read: Read) -> dict[str, Any]:
    return {
        "platform": read.mapping.platform,
        "file": name,
        "sha256": sha256_of(content),
        "mapping_sha256": read.sha256,
    }


def _known(ledger: Ledger, platform: str) -> dict[str, int]:
    """Return hash → entry of every file that was ever imported for a platform: a bank's file may be for several."""
    entries = (entry for entry in ledger.entries() if entry.act in ACTS)
    return {entry.body["sha256"]: entry.no for entry in entries if entry.body["platform"] == platform}


def _files(path: Path, names: str) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(each for each in path.iterdir() if each.is_file() and fnmatch.fnmatch(each.name, names))
    if not files:
        raise SettlementError(f"{path} has no file named {names}")
    return files


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SettlementError(f"{file}: cannot be read: {error.strerror}") from None
