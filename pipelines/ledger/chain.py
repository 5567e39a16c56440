"""The hash chain: one JSON line per entry, and a Parquet file for the rows of an entry that has them.

An entry's `sha256` covers its whole line but itself, including the hashes of the previous entry and of its row file: a
head kept elsewhere proves that no earlier entry was changed. The line is written and synced after the file, and is the
entry: what a kill leaves before that does not count.
"""

import contextlib
import datetime as dt
import fcntl
import hashlib
import json
import os
import pwd
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.clock import machine_now, utc_now
from pipelines.durable import append, file_hash, make_folder, put_in_place, unfinished
from pipelines.literals import literals

_GENESIS = "0" * 64


class LedgerError(Exception):
    """The ledger is damaged or incomplete; the message names the entry."""


@dataclass(frozen=True)
class LedgerEntry:
    """One entry. `body` is plain JSON; `file` is its row file in the ledger's folder.

    `time_doubt` says why `at` cannot be right; a line has it only if there is a doubt.
    """

    no: int
    at: str
    who: str
    act: str
    body: dict[str, Any]
    file: str | None
    file_sha256: str | None
    previous: str
    sha256: str
    time_doubt: str | None = None

    @property
    def moment(self) -> dt.datetime:
        """When it was written, in UTC."""
        return dt.datetime.fromisoformat(self.at)


@dataclass(frozen=True)
class IntactChain:
    """An intact chain: the number of entries, the hash of the last, and a sentence for each time in doubt."""

    entries: int
    head: str
    time_doubts: tuple[str, ...] = ()


class Ledger:
    """The ledger in a folder, `data/ledger`; nothing is written before the first entry."""

    def __init__(
        self,
        folder: Path,
        after: "Callable[[Ledger, int], None] | None" = None,
        before: "Callable[[Ledger], object] | None" = None,
    ) -> None:
        self.folder = folder
        self._before = before  # is called before each entry, and may refuse it
        self._after = after  # is called with the number of each entry once it is written
        self._lines = folder / "ledger.jsonl"

    def entries(self, act: str | None = None, *, first: int = 1) -> Iterator[LedgerEntry]:
        """Yield the entries from number `first` on, all or of one act; raise LedgerError where the chain breaks."""
        previous = _GENESIS if first == 1 else None
        for no, line in enumerate(islice(self.lines(), first - 1, None), first):
            entry = _entry(line, no, previous)
            previous = entry.sha256
            if act is None or entry.act == act:
                yield entry

    def unchained(self, act: str) -> Iterator[LedgerEntry]:
        """Yield the entries of one act, each as it was written; the others, and so the chain, are not read."""
        start = f'{{"act":"{act}",'.encode()
        yield from (_entry(line, no, None) for no, line in enumerate(self.lines(), 1) if line.startswith(start))

    def last(self) -> LedgerEntry | None:
        """Return the last entry, without reading the others."""
        return next(self.entries(first=max(1, sum(1 for _ in self.lines()))), None)

    def head(self) -> str:
        """Return the hash of the last entry; zeros before the first."""
        last = self.last()
        return last.sha256 if last else _GENESIS

    def lines(self) -> Iterator[bytes]:
        """Yield the line of each entry as it is on disk, without its end."""
        with contextlib.suppress(FileNotFoundError), self._lines.open("rb") as lines:
            yield from (line[:-1] for line in lines if line.endswith(b"\n"))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers out while the block runs."""
        make_folder(self.folder)
        with (self.folder / "ledger.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def append(self, act: str, body: dict[str, Any], rows: pa.Table | None = None) -> LedgerEntry:
        """Write one entry, sync it to disk and return it. One writer at a time; a second one waits."""
        with self.locked():
            self._cut_half_line()
            if self._before is not None:
                self._before(self)
            last = self.last()
            no, previous = (last.no + 1, last.sha256) if last else (1, _GENESIS)
            file = file_sha256 = None
            if rows is not None:
                file = f"{no:06d}-{act}.parquet"
                draft = unfinished(self.folder / file)
                pq.write_table(rows, draft, compression="zstd")
                file_sha256 = file_hash(draft)
                put_in_place(self.folder / file)
            now = utc_now()
            fields: dict[str, Any] = {"no": no, "at": now.isoformat(timespec="microseconds"), "who": _who(), "act": act}
            fields |= {"body": body, "file": file, "file_sha256": file_sha256, "previous": previous}
            if doubt := _time_doubt(now, last, machine_now()):
                fields["time_doubt"] = doubt
            fields["sha256"] = _hash(fields)
            append(self._lines, _canonical(fields) + b"\n")
            if self._after is not None:
                self._after(self, no)
            return LedgerEntry(**fields)

    def rows(self, entry: LedgerEntry) -> pa.Table:
        """Return the rows of an entry; raise LedgerError if its row file was changed."""
        return pq.read_table(self.file(entry))

    def file(self, entry: LedgerEntry) -> Path:
        """Return the row file of an entry; raise LedgerError if it is missing or was changed."""
        if entry.file is None:
            raise LedgerError(f"entry {entry.no} ({entry.act}) has no rows")
        path = self.folder / entry.file
        if not path.exists():
            raise LedgerError(f"entry {entry.no} ({entry.act}): {entry.file} is missing; restore it from a copy")
        if file_hash(path) != entry.file_sha256:
            raise LedgerError(f"entry {entry.no} ({entry.act}): {entry.file} was changed; restore it from a copy")
        return path

    def _cut_half_line(self) -> None:
        """Remove the incomplete last line that a kill left; it never was an entry."""
        if not self._lines.exists():
            return
        with self._lines.open("r+b") as lines:
            content = lines.read()
            whole = content.rfind(b"\n") + 1
            if whole != len(content):
                lines.truncate(whole)
                os.fsync(lines.fileno())


def verify(ledger: Ledger, expected_head: str = "") -> IntactChain:
    """Verify every entry and row file of the chain; raise LedgerError naming the first that was changed.

    `expected_head` is a head kept elsewhere: it is an error if no entry has that hash.
    """
    count, head, found = 0, _GENESIS, expected_head in {"", _GENESIS}
    last, doubts = None, []
    for entry in ledger.entries():
        if entry.file is not None:
            ledger.file(entry)
        if doubt := entry.time_doubt or _time_doubt(entry.moment, last, utc_now()):
            doubts.append(f"entry {entry.no} ({entry.act}) of {entry.at}: {doubt}")
        last = entry
        count, head, found = entry.no, entry.sha256, found or entry.sha256 == expected_head
    if not found:
        raise LedgerError(f"no entry of {ledger.folder} has the hash {expected_head}: removed, or of another ledger")
    return IntactChain(count, head, tuple(doubts))


def _time_doubt(moment: dt.datetime, last: LedgerEntry | None, now: dt.datetime) -> str | None:
    """Return why an entry's time cannot be right: it is before the last entry's, or ahead of the clock."""
    if last and moment < last.moment:
        return f"before the time of entry {last.no}, {last.at}"
    return "ahead of the clock" if moment > now else None


def select_rows(files: Iterable[Path], names: Iterable[str]) -> str:
    """Return a select of row files' columns, null where one lacks them, and of `entry_no`, which begins its name."""
    files = list(files)
    stored = {name for file in files for name in pq.read_schema(file).names}
    columns = ", ".join(name if name in stored else f"null as {name}" for name in names)
    select = f"select cast(split_part(parse_filename(filename), '-', 1) as bigint) as entry_no, {columns}"
    return f"{select} from read_parquet([{literals(files)}], filename = true, union_by_name = true)"


def _entry(line: bytes, no: int, previous: str | None) -> LedgerEntry:
    try:
        fields = json.loads(line)
        entry = LedgerEntry(**fields)
    except (ValueError, TypeError):
        raise LedgerError(f"entry {no} cannot be read; restore ledger.jsonl from a copy") from None
    del fields["sha256"]
    if entry.no != no or previous not in {None, entry.previous}:
        raise LedgerError(f"ledger.jsonl: entry {no} does not follow the one before: one was removed, added or moved")
    if entry.sha256 != _hash(fields):
        raise LedgerError(f"ledger.jsonl: entry {no} ({entry.act}) was changed after it was written")
    return entry


def _canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _hash(fields: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(fields)).hexdigest()


def _who() -> str:
    """Return the user of the process, not the environment's claim."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
