"""Export the journal of a period: each entry once, in the form of another system, and recorded in the ledger.

| act | body | rows |
|---|---|---|
| journal | period, format, export_no, map_sha256, files: [{name, sha256}], without, uid, as | EXPORTED |

An export has the entries that no earlier one of its period and format has. The files of earlier ones are made again,
from the ledger, and are the same bytes; an entry that would be another one now is refused. A day that was reopened
after an export is reversed by an entry of its own. Statements that were superseded or are matched otherwise after an
export change nothing in it: the next period that is exported first has an entry of each change.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.durable import make_folder, write_whole
from pipelines.finance.accounts import Export, files_of, read_accounts
from pipelines.finance.journal import ACT, AS_MATCHED, NO_STORE, Entry, Journal, Line, journal
from pipelines.finance.periods import one_day, period_holding, period_of
from pipelines.finance.released import FinanceError, query
from pipelines.finance.restating import recorded
from pipelines.ledger import Closes
from pipelines.ledger.decisions import ACCEPTED
from pipelines.ledger.signed_head import signing_ledger
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pipelines.finance.accounts import Accounts
    from pipelines.finance.journal import Place
    from pipelines.finance.periods import Period
    from pipelines.finance.released import Released
    from pipelines.ledger import Ledger
    from pipelines.ledger.decisions import User
    from pipelines.settings import Settings

EXPORTED = pa.schema(
    [
        ("number", pa.string()),
        ("day", pa.date32()),
        ("business_date", pa.date32()),
        ("store_id", pa.int64()),
        ("currency", pa.string()),
        ("memo", pa.string()),
        ("source", pa.int64()),
        *((name, pa.string()) for name in ("account", "account_class", "platform", "tax_code")),
        ("amount", pa.decimal128(38, 4)),
    ]
)
_SHOWN = 3
_REVERSAL, _CHANGE = "-reversal", "-change"
_PERIODS = ("posted_period", "reversed_period")


@dataclass(frozen=True)
class Done:
    """An export: its files, or the stops that prevented it; `entry_no`: of the ledger, None if nothing is new."""

    journal: Journal
    files: tuple[Path, ...] = ()
    entry_no: int | None = None
    new_count: int = 0


def export(
    settings: Settings,
    period: Period,
    map_file: Path,
    form: str,
    out: Path,
    *,
    draft: bool,
    left_out: Sequence[Place],
    user: User,
) -> Done:
    """Write the files of a period's journal; none if a store-day is stopped that `left_out` does not name.

    Raise FinanceError if the entries differ from mart.period_books, or from those of an earlier export.
    """
    accounts, map_sha256 = read_accounts(map_file)
    found = journal(settings, period, accounts, draft=draft)
    if found.differences:
        raise FinanceError("the journal differs from the books: " + _some(found.differences))
    named = {*left_out}
    if found.stops.keys() - named:
        return Done(found)
    entries = [each for each in found.entries if each.place not in named]
    said = tuple(f"{day} S{store_id}" for day, store_id in sorted(named, key=str))
    if draft:
        exports = [Export(period.name or "", form, 0, said, entries)]
        return Done(found, tuple(_write(out, _contents(exports, accounts))))
    ledger = signing_ledger(settings)
    exported = [*_earlier(ledger)]
    earlier = [(body, done) for body, done in exported if done.period == period.name]
    known = {each.number: each for _, done in earlier for each in done.entries}
    entries = [_kept(known.get(each.number, each), each) for each in entries]
    if differing := [line for each in entries for line in _difference(known.get(each.number, each), each)]:
        raise FinanceError("an earlier export has other entries, and nothing was written: " + _some(differing))
    entries += _reversals(known, Closes(ledger.entries()))
    if not earlier:
        entries += [each for each in _changes((done for _, done in exported), found) if each.place not in named]
    every = {each.number: each for each in [*known.values(), *entries]}
    mine = [(body, done) for body, done in earlier if done.form == form]
    contents = _contents([done for _, done in mine], accounts)
    for before, _ in mine:
        for file in before["files"]:
            if _sha256(contents[file["name"]]) != file["sha256"]:
                raise FinanceError(f"{file['name']} would not be the same bytes: nothing was written; report this")
    done_before = {each.number for _, done in mine for each in done.entries}
    new = sorted((each for each in every.values() if each.number not in done_before), key=lambda each: each.number)
    if not new:
        return Done(found, tuple(_write(out, contents)))
    made = Export(period.name or "", form, len(mine) + 1, said, new)
    files = _contents([made], accounts)
    body: dict[str, Any] = {"period": made.period, "format": form, "export_no": made.number, "map_sha256": map_sha256}
    body |= {"files": [{"name": name, "sha256": _sha256(content)} for name, content in files.items()]}
    entry = ledger.append(ACT, {**body, "without": [*said], **user.body}, _rows(new))
    return Done(found, tuple(_write(out, contents | files)), entry.no, len(new))


def check(settings: Settings, name: str, map_file: Path | None) -> list[Done]:
    """Return the journal of a period, or of each one that has entries, without writing anything."""
    accounts = read_accounts(map_file)[0] if map_file else None
    names = {close.period for close in Closes(signing_ledger(settings).entries()).rows() if close.period}
    names |= {row[column] for row in recorded(settings, everything=True) for column in _PERIODS if row[column]}
    made: dict[str, Journal] = {}
    waiting = [name] if name else sorted(names)
    for each in waiting:
        found = made[each] = journal(settings, period_of(settings, each), accounts)
        held = {period_holding(settings, one.day).name or "" for one in found.settled.values()}
        waiting += sorted(held - {*waiting}) if not name else []
    return [Done(made[each]) for each in sorted(made)]


def numbers_of(release: Released, order_id: int) -> list[str]:
    """Return the numbers of the exported entries that an order is in: sales, restatements, statements."""
    tables = [release.ledger.rows(entry) for entry in release.ledger.entries(ACT)]
    release.con.register("exported", pa.concat_tables(tables) if tables else EXPORTED.empty_table())
    accepted = [
        entry.no
        for entry in release.ledger.entries(ACCEPTED)
        if any(each.get("order_id") == order_id for each in entry.body["breaks"])
    ]
    values = {"order_id": order_id, "accepted": accepted}
    return [number for (number,) in release.con.execute(query("exported_numbers"), values).fetchall()]


def places(texts: Iterable[str]) -> list[Place]:
    """Return the store-days written as 2026-10-31:12; raise SettingsError for another text."""
    found: list[Place] = []
    for text in texts:
        day, _, store_id = text.partition(":")
        if not store_id.isdecimal() and store_id != NO_STORE:
            raise SettingsError(f"--without: {text!r} is no store's day such as 2026-10-31:12")
        found.append((one_day(day).first_day, None if store_id == NO_STORE else int(store_id)))
    return found


def _contents(exports: Iterable[Export], accounts: Accounts) -> dict[str, bytes]:
    return {name: content for each in exports for name, content in files_of(each, accounts)}


def _write(out: Path, contents: dict[str, bytes]) -> list[Path]:
    make_folder(out)
    for name, content in contents.items():
        write_whole(out / name, content)
    return [out / name for name in contents]


def _earlier(ledger: Ledger) -> Iterator[tuple[dict[str, Any], Export]]:
    """Yield the exports of all periods, each with the body of its entry."""
    for entry in ledger.entries(ACT):
        body, entries = entry.body, list(_entries(ledger.rows(entry)))
        yield body, Export(body["period"], body["format"], body["export_no"], tuple(body["without"]), entries)


def _rows(entries: Iterable[Entry]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"number": each.number, "day": each.day, "business_date": each.place[0], "store_id": each.place[1]}
            | {"currency": each.currency, "memo": each.memo, "source": each.source}
            | line._asdict()
            for each in entries
            for line in each.lines
        ],
        schema=EXPORTED,
    )


def _entries(rows: pa.Table) -> Iterable[Entry]:
    for number, of_entry in itertools.groupby(rows.to_pylist(), key=lambda row: row["number"]):
        first, *_ = rows_of = list(of_entry)
        place = first["business_date"], first["store_id"]
        lines = tuple(Line(*(row[name] for name in Line._fields)) for row in rows_of)
        yield Entry(number, first["day"], place, first["currency"], first["memo"], first["source"], lines)


def _reversals(known: dict[str, Entry], closes: Closes) -> list[Entry]:
    """Return an entry for each exported one of a close that is no longer active: its lines, negated."""
    found = []
    for each in known.values():
        if each.kind != "sales" or each.number.endswith(_REVERSAL) or closes.of(*each.place) == each.source:
            continue
        number = each.number + _REVERSAL
        lines = tuple(line._replace(amount=-line.amount) for line in each.lines)
        made = replace(each, number=number, memo=f"Reversal of {each.number}: its day was reopened", lines=lines)
        found.append(known.get(number, made))
    return found


def _kept(before: Entry, now: Entry) -> Entry:
    """Return the entry of a statement as it was exported, though its lines are matched otherwise now."""
    return before if now.kind in AS_MATCHED and _sums([before]) != _sums([now]) else now


def _changes(exports: Iterable[Export], found: Journal) -> Iterable[Entry]:
    """Yield an entry for each statement's or bank file's of an earlier period whose lines are others now."""
    period, booked = found.period, defaultdict[str, dict[str, Entry]](dict)
    for export in exports:
        for each in export.entries:
            if each.kind in AS_MATCHED:
                key = each.number.removeprefix(f"OM-{export.period}-").removesuffix(_CHANGE)
                booked[key].setdefault(each.number, each)
    for key, entries in booked.items():
        first, *_ = before = list(entries.values())
        now = [found.settled[key]] if key in found.settled else []
        parts = {line[1:4]: line for each in [*before, *now] for line in each.lines}
        was, is_now = _sums(before), _sums(now)
        lines = tuple(
            parts[part]._replace(amount=amount)
            for part in sorted(parts, key=str)
            if (amount := is_now[part] - was[part])
        )
        if any(not line.account for line in lines):
            raise FinanceError(f"{first.number} is matched otherwise now, and a class of it has no account in --map")
        if lines and first.day < period.first_day:
            memo = f"Change of {first.number}: superseded, or matched otherwise"
            number = f"OM-{period.name}-{key}{_CHANGE}"
            yield replace(first, number=number, day=period.first_day, memo=memo, lines=lines)


def _sums(entries: Iterable[Entry]) -> defaultdict[Any, Decimal]:
    """Return the amount of each class, platform and tax code."""
    found = defaultdict[Any, Decimal](Decimal)
    for each in entries:
        for line in each.lines:
            found[line[1:4]] += line.amount
    return found


def _difference(before: Entry, now: Entry) -> Iterable[str]:
    """Yield a sentence for each line of an entry that is another one now."""
    for line in sorted({*before.lines} ^ {*now.lines}, key=str):
        side = "was" if line in before.lines else "is now"
        yield f"{now.number}: {line.account_class} {side} {line.amount:.4f} on account {line.account}"


def _some(sentences: Sequence[str]) -> str:
    more = f"; and {len(sentences) - _SHOWN:,} more" if len(sentences) > _SHOWN else ""
    return "; ".join(sentences[:_SHOWN]) + more


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
