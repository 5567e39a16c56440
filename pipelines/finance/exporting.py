"""Export the journal of a period: each entry once, in a format of `journal.py`, and recorded in the ledger.

| act | body | rows |
|---|---|---|
| journal | period, format, export_no, map_sha256, files: [{name, sha256}], without, uid, as | EXPORTED |

An export has, by entry, the amount to be posted less the amount exported before, in any period, export and form: a
first export everything, a later one the entries that are new, changed or gone. An entry of sales is that of a day,
store and currency; of statements or a bank's files that of a platform, day, store and currency, whichever ledger
entry has it: of a file that grows only its new days are new. Sales and restatements change in their own period.
Statements that have since been superseded, or are matched differently, change on the first day from their own on that
is open now. The files of earlier exports are made again from the ledger, byte for byte.

    Export 1 has 100.00 of sales of 1 October. A restatement of 5.00 is posted to November: export 2, of November, has
    an entry of 5.00, and nothing of the first one. A statement that is imported again with a day more adds that day.
"""

import datetime as dt
import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pipelines.durable import make_folder, write_whole
from pipelines.finance import released
from pipelines.finance.closing import ledger_restatements
from pipelines.finance.journal import (
    AS_MATCHED,
    JOURNAL_ACT,
    NO_STORE,
    Accounts,
    Export,
    Journal,
    JournalEntry,
    JournalLine,
    Place,
    StoppedDay,
    files_of,
    journal,
    read_accounts,
)
from pipelines.ledger import Closes, Ledger, LedgerEntry
from pipelines.ledger.entries import ACCEPTED, User
from pipelines.ledger.signed_head import signing_ledger
from pipelines.settings import Settings, SettingsError
from pipelines.settlements.importing import ACTS

EXPORTED = pa.schema(
    [
        *(("number", pa.string()), ("day", pa.date32()), ("business_date", pa.date32()), ("store_id", pa.int64())),
        *(("currency", pa.string()), ("memo", pa.string()), ("source", pa.int64())),
        *((name, pa.string()) for name in ("account", "account_class", "platform", "tax_code")),
        ("amount", pa.decimal128(38, 4)),
    ]
)
_SHOWN = 3
_RESTATEMENT = re.compile(r"-(?:restatement|reversal)-R([0-9]+)")
_SUFFIX = re.compile(r"(-reversal|-change[0-9]*)+\Z")
_PERIODS = ("posted_period", "reversed_period")


@dataclass(frozen=True)
class JournalExport:
    """An export: its files, or the stops that prevented it; `entry_no`: of the ledger, None if nothing is new."""

    journal: Journal
    files: tuple[Path, ...] = ()
    entry_no: int | None = None
    new_count: int = 0
    is_stopped: bool = False
    is_export: bool = True


class _Exported(NamedTuple):
    """An export of the ledger: number and body of its entry, and its entries."""

    no: int
    body: dict[str, Any]
    export: Export


_Sums = defaultdict[tuple[Any, ...], Decimal]
_Key = tuple[Any, ...]  # what an entry is about: its place, kind, currency, and number of restatement or platform


def export(
    settings: Settings,
    period: released.BookPeriod,
    map_file: Path,
    export_format: str,
    out: Path,
    *,
    draft: bool,
    left_out: Sequence[Place],
    user: User,
) -> JournalExport:
    """Write the files of a period's journal; none if a store-day is stopped that `left_out` does not name.

    Raise FinanceError if the entries differ from mart.period_books, or from those of an earlier export.
    """
    accounts, map_sha256 = read_accounts(map_file)
    found = journal(settings, period, accounts, draft=draft)
    if found.differences:
        raise released.FinanceError("the journal differs from the books: " + _some(found.differences))
    ledger, name, named = signing_ledger(settings), period.name or "", {*left_out}
    said = tuple(f"{day} S{store_id}" for day, store_id in sorted(named, key=str))
    exported = [*_earlier(ledger)]
    new = _Plan(settings, found, exported, [*ledger.entries()], {*found.stops} | named).entries()
    if found.stops.keys() - named:
        return JournalExport(found, is_stopped=True)
    if draft:
        contents = _contents([Export(name, export_format, 0, said, new)], accounts) if new else {}
        return JournalExport(found, tuple(_write(out, contents)))
    known = {each.number: each for one in exported if one.export.period == name for each in one.export.entries}
    mine = [each for each in exported if (each.export.period, each.export.export_format) == (name, export_format)]
    # the files of earlier exports, which must be the same bytes
    contents = _contents([each.export for each in mine], accounts)
    for file in (file for each in mine for file in each.body["files"]):
        if _sha256(contents[file["name"]]) != file["sha256"]:
            raise released.FinanceError(f"{file['name']} would not be the same bytes: nothing was written; report this")
    done_before = {each.number for one in mine for each in one.export.entries}
    missing = (each for number, each in known.items() if number not in done_before)
    if not (new := sorted([*missing, *new], key=lambda each: each.number)):
        return JournalExport(found, tuple(_write(out, contents)))
    made = Export(name, export_format, len(mine) + 1, said, new)
    files = _contents([made], accounts)
    body: dict[str, Any] = {"period": made.period, "format": export_format, "export_no": made.number}
    body["map_sha256"] = map_sha256
    body["files"] = [{"name": name, "sha256": _sha256(content)} for name, content in files.items()]
    entry = ledger.append(JOURNAL_ACT, {**body, "without": [*said], **user.body}, _rows(new))
    return JournalExport(found, tuple(_write(out, contents | files)), entry.no, len(new))


class _Plan:
    """What an export of a period adds to those before: by entry, the amount to be posted less the amount exported."""

    def __init__(
        self,
        settings: Settings,
        found: Journal,
        exported: list[_Exported],
        ledger: list[LedgerEntry],
        left_out: set[Place],
    ) -> None:
        self._found, self._period, self._closes = found, found.period, Closes(ledger)
        self._settings, self._exported = settings, exported
        self._platforms = {entry.no: entry.body.get("platform") for entry in ledger if entry.act in ACTS}
        self._numbers = {each.number for one in exported for each in one.export.entries}
        self._now = {self._key(each): each for each in found.settled.values()}
        self._now |= {self._key(each): each for each in found.entries if each.kind not in AS_MATCHED}
        self._before = defaultdict[_Key, dict[str, JournalEntry]](dict)
        for one in exported:
            for each in one.export.entries:
                if each.kind in AS_MATCHED or one.export.period == self._period.name:
                    known = self._before[self._key(each)].setdefault(each.number, each)
                    if _by_account([known]) != _by_account([each]):
                        raise released.FinanceError(f"{each.number} has other amounts in another export: report this")
        self._keys = [key for key in {**self._now, **self._before} if key[0] not in left_out]

    def entries(self) -> list[JournalEntry]:
        """Return the new entries; raise FinanceError if accounts differ, or if the exports would miss the tables."""
        made = {key: each for key in self._keys if (each := self._new(key, [*self._before[key].values()]))}
        own = [key for key in self._keys if self._period.first_day <= key[0][0] <= self._period.last_day]
        if differing := [text for key in own for text in self._on_other_accounts(key)]:
            said = "an earlier export has other entries, and nothing was written"
            raise released.FinanceError(f"{said}: " + _some(differing))
        self._check_sums(made)
        for (place, *_), each in made.items():
            if of_class := next((line.account_class for line in each.lines if not line.account), None):
                reason = f"class {of_class!r} has no account, and {each.memo} needs it"
                self._found.stops.setdefault(place, StoppedDay(place[0], place[1], None, reason))
        return sorted(made.values(), key=lambda each: (each.day, each.number))

    def _key(self, entry: JournalEntry) -> _Key:
        restatement = _RESTATEMENT.search(entry.number)
        about = restatement[1] if restatement else self._platforms.get(entry.source or 0)
        return entry.place, entry.kind, entry.currency, about if entry.kind != "sales" else None

    def _new(self, key: _Key, before: list[JournalEntry]) -> JournalEntry | None:
        """Return what an entry adds to those before it in this period; None for nothing."""
        now = self._now.get(key)
        if now and not before and not self._is_late(now):
            return now if self._period.first_day <= now.day <= self._period.last_day and now.lines else None
        was, is_now = _sums(before), _sums([now] if now else [])
        day = self._day(key, now or before[0])
        if all(was[part] == is_now[part] for part in [*was, *is_now]) or day > self._period.last_day:
            return None
        changes = _Sums(Decimal)  # by account, too: another one since then has the whole amount
        for sign, each in [(1, now)] * bool(now) + [(-1, each) for each in before]:
            for line in each.lines if each else ():
                changes[line[:4]] += sign * line.amount
        lines = tuple(JournalLine._make((*part, changes[part])) for part in sorted(changes, key=str) if changes[part])
        like = now or before[-1]
        memo = now.memo if now else f"Reversal of {before[0].number}: its day was reopened, or it was superseded"
        if now and any(was.values()):
            memo += f", change since {before[0].number}"
        number = self._number(key, like, before, is_gone=not now)
        return replace(like, number=number, day=day, memo=memo, lines=lines)

    def _is_late(self, entry: JournalEntry) -> bool:
        """Whether an export of its own day, made since its import, could not have it: it was matched otherwise."""
        day, left_out = entry.place[0], f"{entry.place[0]} S{entry.store}"
        return entry.kind in AS_MATCHED and any(
            one.no > (entry.source or 0)
            and one.export.period == released.period_holding(self._settings, day).name
            and left_out not in one.export.without
            for one in self._exported
        )

    def _day(self, key: _Key, entry: JournalEntry) -> dt.date:
        """Return on which day a change posts: sales on their own, others on the first from theirs on that is open."""
        if key[1] not in AS_MATCHED:
            return entry.day
        day: dt.date = key[0][0]
        store_id = key[0][1]
        while self._closes.is_any(day, store_id):
            day += dt.timedelta(days=1)
        return max(day, self._period.first_day)

    def _number(self, key: _Key, like: JournalEntry, before: list[JournalEntry], *, is_gone: bool) -> str:
        """Return a number that no export has."""
        found = like.number
        if key[1] in AS_MATCHED:
            (day, _), kind, currency, _ = key
            found = f"OM-{self._period.name}-{day:%Y%m%d}-S{like.store}-{kind}-{currency}-L{like.source}"
            if not is_gone and like.source in {each.source for each in before}:
                found += "-change"
        found = f"{_SUFFIX.sub('', found)}-reversal" if is_gone else found
        if found not in self._numbers:
            return found
        found = _SUFFIX.sub("", found)
        changes = (f"{found}-change{number}" for number in itertools.count(2))
        return next(each for each in changes if each not in self._numbers)

    def _on_other_accounts(self, key: _Key) -> Iterator[str]:
        """Yield a sentence for each line whose amount is on another account now; nothing else explains two of them."""
        before, now = self._before[key].values(), self._now.get(key)
        was = _sums(before)
        accounts = {line[1:4]: line.account for each in before for line in each.lines if was[line[1:4]]}
        for line in now.lines if now else ():
            if line.account and (account := accounts.get(line[1:4], line.account)) != line.account:
                on = f"{line.amount:.4f} on account {line.account}, was on {account}"
                yield f"{now.number if now else ''}: {line.account_class} is now {on}"

    def _check_sums(self, made: dict[_Key, JournalEntry]) -> None:
        """Raise FinanceError unless all exports of all periods equal the tables, entry by entry.

        But for what is due later, or of a period that waits for its export. By account where this export adds
        something: what was exported on another account stays there.
        """
        first, last = self._period.first_day, self._period.last_day
        for key in self._keys:
            new, now, before = made.get(key), self._now.get(key), [*self._before[key].values()]
            is_due = self._day(key, now or before[0]) <= last if before else now and first <= now.day <= last
            if not new and not is_due:
                continue
            by = _by_account if new else _sums
            exported, stated = by([*before, *_entries(_rows([new] if new else []))]), by([now] if now else [])
            if off := [part for part in {**exported, **stated} if exported.get(part, 0) != stated.get(part, 0)]:
                account, of_class, *_ = min(off, key=str)
                where = f"{account or of_class}, {key[2]}, {key[0][0]}"
                raise released.FinanceError(f"all exports together miss the tables on {where}: report this")


def check(settings: Settings, name: str, map_file: Path | None) -> list[JournalExport]:
    """Return the journal of a period, or of each one that has entries, without writing anything."""
    accounts = read_accounts(map_file)[0] if map_file else None
    names = {close.period for close in Closes(signing_ledger(settings).entries()).rows() if close.period}
    rows = ledger_restatements(settings, everything=True)
    names |= {row[column] for row in rows for column in _PERIODS if row[column]}
    made: dict[str, Journal] = {}
    waiting = [name] if name else sorted(names)
    for each in waiting:
        found = made[each] = journal(settings, released.period_of(settings, each), accounts)
        held = {released.period_holding(settings, one.day).name or "" for one in found.settled.values()}
        waiting += sorted(held - {*waiting}) if not name else []
    return [JournalExport(made[each], is_export=False) for each in sorted(made)]


def numbers_of(release: released.Released, order_id: int) -> list[str]:
    """Return the numbers of the exported entries that an order is in: sales, restatements, statements."""
    tables = [release.ledger.rows(entry) for entry in release.ledger.entries(JOURNAL_ACT)]
    release.con.register("exported", pa.concat_tables(tables) if tables else EXPORTED.empty_table())
    entries = release.ledger.entries(ACCEPTED)
    accepted = [entry.no for entry in entries if any(of.get("order_id") == order_id for of in entry.body["breaks"])]
    values = {"order_id": order_id, "accepted": accepted}
    return [number for (number,) in release.con.execute(released.finance_sql("exported_numbers"), values).fetchall()]


def parse_store_days(texts: Iterable[str]) -> list[Place]:
    """Return the store-days written as 2026-10-31:12; raise SettingsError for another text."""
    found: list[Place] = []
    for text in texts:
        day, _, store_id = text.partition(":")
        if not store_id.isdecimal() and store_id != NO_STORE:
            raise SettingsError(f"--without: {text!r} is not a store-day; write DAY:STORE, such as 2026-10-31:12")
        found.append((released.one_day(day).first_day, None if store_id == NO_STORE else int(store_id)))
    return found


def _contents(exports: Iterable[Export], accounts: Accounts) -> dict[str, bytes]:
    return {name: content for each in exports for name, content in files_of(each, accounts)}


def _write(out: Path, contents: dict[str, bytes]) -> list[Path]:
    make_folder(out)
    for name, content in contents.items():
        write_whole(out / name, content)
    return [out / name for name in contents]


def _earlier(ledger: Ledger) -> Iterator[_Exported]:
    """Yield the exports of all periods."""
    for entry in ledger.entries(JOURNAL_ACT):
        body, entries = entry.body, list(_entries(ledger.rows(entry)))
        made = Export(body["period"], body["format"], body["export_no"], tuple(body["without"]), entries)
        yield _Exported(entry.no, body, made)


def _rows(entries: Iterable[JournalEntry]) -> pa.Table:
    rows = []
    for each in entries:
        head = {"number": each.number, "day": each.day, "business_date": each.place[0], "store_id": each.place[1]}
        head |= {"currency": each.currency, "memo": each.memo, "source": each.source}
        rows += [head | line._asdict() for line in each.lines]
    return pa.Table.from_pylist(rows, schema=EXPORTED)


def _entries(rows: pa.Table) -> Iterable[JournalEntry]:
    for number, of_entry in itertools.groupby(rows.to_pylist(), key=lambda row: row["number"]):
        first, *_ = rows_of = list(of_entry)
        place = first["business_date"], first["store_id"]
        lines = tuple(JournalLine(*(row[name] for name in JournalLine._fields)) for row in rows_of)
        yield JournalEntry(number, first["day"], place, first["currency"], first["memo"], first["source"], lines)


def _by_account(entries: Iterable[JournalEntry]) -> dict[tuple[Any, ...], Decimal]:
    """Return the amount of each account, class and platform but those of zero."""
    found = _Sums(Decimal)
    for each in entries:
        for line in each.lines:
            found[line[:3]] += line.amount
    return {part: amount for part, amount in found.items() if amount}


def _sums(entries: Iterable[JournalEntry]) -> _Sums:
    """Return the amount of each class, platform and tax code."""
    found = _Sums(Decimal)
    for each in entries:
        for line in each.lines:
            found[line[1:4]] += line.amount
    return found


def _some(sentences: Sequence[str]) -> str:
    more = f"; and {len(sentences) - _SHOWN:,} more" if len(sentences) > _SHOWN else ""
    return "; ".join(sentences[:_SHOWN]) + more


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
