"""The chain itself: one line of JSON an act, and a Parquet file beside it where an act seals many rows.

An entry's `sha256` covers everything in its line but itself, the hash of the entry before it and that of its file
included: whoever keeps the head elsewhere can show that nothing below it was changed. A line is written after its file,
synced, and is the act; what a kill leaves before that is no act. Knows nothing of what an act means.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import hashlib
import json
import os
import pwd
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

_GENESIS = "0" * 64
_BLOCK = 1 << 20


class LedgerError(Exception):
    """The ledger is not what was written; the message names the entry."""


@dataclass(frozen=True)
class Entry:
    """One act. `body` is plain JSON; `file` names the rows that it seals, relative to the ledger's folder."""

    no: int
    at: str
    who: str
    act: str
    body: dict[str, Any]
    file: str | None
    file_sha256: str | None
    previous: str
    sha256: str

    @property
    def moment(self) -> dt.datetime:
        """When it was written, UTC."""
        return dt.datetime.fromisoformat(self.at)


@dataclass(frozen=True)
class Verified:
    """A chain that holds: how many acts, and the hash of the last one, to be kept elsewhere."""

    entries: int
    head: str


class Ledger:
    """The ledger in a folder, `data/ledger`; nothing is written before the first act."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lines = folder / "ledger.jsonl"

    def entries(self, act: str | None = None) -> Iterator[Entry]:
        """Yield the acts in order, all or those of one name; raise LedgerError at one that does not follow."""
        previous = _GENESIS
        for no, line in enumerate(self._whole_lines(), 1):
            entry = _entry(line, no, previous)
            previous = entry.sha256
            if act is None or entry.act == act:
                yield entry

    def head(self) -> str:
        """Return the hash of the last act; zeros before the first."""
        head = _GENESIS
        for entry in self.entries():
            head = entry.sha256
        return head

    def append(self, act: str, body: dict[str, Any], rows: pa.Table | None = None) -> Entry:
        """Write one act and return it, synced to the disk. One writer at a time; a second one waits."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "ledger.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._cut_half_line()
            no, previous = 0, _GENESIS
            for entry in self.entries():
                no, previous = entry.no, entry.sha256
            no += 1
            file = file_sha256 = None
            if rows is not None:
                file = f"{no:06d}-{act}.parquet"
                file_sha256 = self._write_rows(file, rows)
            fields: dict[str, Any] = {
                "no": no,
                "at": dt.datetime.now(dt.UTC).isoformat(timespec="microseconds"),
                "who": _who(),
                "act": act,
                "body": body,
                "file": file,
                "file_sha256": file_sha256,
                "previous": previous,
            }
            fields["sha256"] = _hash(fields)
            with self._lines.open("ab") as lines:
                lines.write(_canonical(fields) + b"\n")
                lines.flush()
                os.fsync(lines.fileno())
            _sync_folder(self.folder)
            return Entry(**fields)

    def rows(self, entry: Entry) -> pa.Table:
        """Return the rows that an act sealed; raise LedgerError when they are not those that were sealed."""
        return pq.read_table(self.file(entry))

    def file(self, entry: Entry) -> Path:
        """Return the file of the rows that an act sealed; raise LedgerError when it is not the one that was sealed."""
        if entry.file is None:
            raise LedgerError(f"entry {entry.no} ({entry.act}) sealed no rows")
        path = self.folder / entry.file
        if not path.exists():
            raise LedgerError(f"entry {entry.no} ({entry.act}): {entry.file} is gone; bring it back from a copy")
        if _file_hash(path) != entry.file_sha256:
            raise LedgerError(f"entry {entry.no} ({entry.act}): {entry.file} is not what was sealed")
        return path

    def _write_rows(self, name: str, rows: pa.Table) -> str:
        draft = self.folder / f".{name}.tmp"
        pq.write_table(rows, draft, compression="zstd")
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        digest = _file_hash(draft)
        draft.replace(self.folder / name)
        _sync_folder(self.folder)
        return digest

    def _whole_lines(self) -> Iterator[bytes]:
        with contextlib.suppress(FileNotFoundError), self._lines.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    yield line[:-1]

    def _cut_half_line(self) -> None:
        """Take away what a kill left of a line that was never whole, so that it was never an act."""
        if not self._lines.exists():
            return
        with self._lines.open("r+b") as lines:
            content = lines.read()
            whole = content.rfind(b"\n") + 1
            if whole != len(content):
                lines.truncate(whole)
                os.fsync(lines.fileno())


def verify(ledger: Ledger, kept: str = "") -> Verified:
    """Walk the whole chain, the sealed files included; raise LedgerError naming the first entry that does not hold.

    `kept` is a head that was kept elsewhere: one that is in no place of the chain is an error too.
    """
    count, head, found = 0, _GENESIS, kept in {"", _GENESIS}
    for entry in ledger.entries():
        if entry.file is not None:
            ledger.file(entry)
        count, head, found = entry.no, entry.sha256, found or entry.sha256 == kept
    if not found:
        raise LedgerError(f"no entry of {ledger.folder} has the hash {kept}: this is not the chain it was taken from")
    return Verified(count, head)


def _entry(line: bytes, no: int, previous: str) -> Entry:
    try:
        fields = json.loads(line)
        entry = Entry(**fields)
    except (ValueError, TypeError):
        raise LedgerError(f"entry {no} cannot be read: bring ledger.jsonl back from a copy") from None
    del fields["sha256"]
    if entry.no != no or entry.previous != previous:
        raise LedgerError(f"entry {no} does not follow the one before it: an act was taken out, added or moved")
    if entry.sha256 != _hash(fields):
        raise LedgerError(f"entry {no} ({entry.act}) was changed after it was written")
    return entry


def _canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _hash(fields: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(fields)).hexdigest()


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _who() -> str:
    """Return the user of the process, whatever the environment calls itself."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
