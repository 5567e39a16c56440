"""Keep bodies for a while, encrypted: those of an uncommitted load, and those in quarantine.

The spool has one file per kind, written response by response and removed when the load ends: a killed run need not
request them again. It survives the process, not the machine: it is not synced, and the next run requests whatever a
power cut loses. Quarantined bodies have a key each, so that they can be reprocessed.
"""

from __future__ import annotations

import datetime as dt
import os
import secrets
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.durable import make_folder
from pipelines.vault.database import erased_ids, transaction
from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, VaultError, decrypt, encrypt, read_keys, require_key
from pipelines.vault.mentions import is_readable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.settings import Settings


_UNREAD_DAYS = 30
ROW_BYTES = 300  # about the vault's need for a body besides its bytes


class Refused(NamedTuple):
    """A quarantined body, decrypted."""

    kind: str
    asked: int | None
    body: bytes


class RefusedBodies:
    """The quarantined bodies of a vault."""

    def __init__(self, db: sqlite3.Connection, master: AESGCM, days: int) -> None:
        self._db = db
        self._master = master
        self._days = days

    def encrypt(
        self, kind: str, load_id: str, bodies: Iterable[tuple[int | None, bytes]], now: dt.datetime
    ) -> list[str]:
        """Encrypt bodies, each with the id that was requested; return a random reference to each.

        Of a document that was erased nothing is kept: its body comes back empty.
        """
        rows = []
        bodies = list(bodies)
        erased = erased_ids(self._db, kind, {asked for asked, _ in bodies if asked is not None})
        for asked, received in bodies:
            body = b"" if asked in erased else received
            ref, key = secrets.token_hex(16), os.urandom(KEY_BYTES)
            bound = f"refused/{ref}".encode()
            wrapped = encrypt(self._master, os.urandom(NONCE_BYTES), key, bound)
            encrypted = encrypt(AESGCM(key), os.urandom(NONCE_BYTES), body, bound)
            rows.append((ref, kind, asked, load_id, now.astimezone(dt.UTC).isoformat(), wrapped, encrypted))
        with transaction(self._db):
            require_key(self._db, self._master)
            self._db.executemany("insert into refused values (?, ?, ?, ?, ?, ?, ?)", rows)
        return [row[0] for row in rows]

    def open(self, ref: str) -> Refused | None:
        """Return a quarantined body, or None if it is no longer kept."""
        row = self._db.execute("select kind, asked, wrapped, body from refused where ref = ?", (ref,)).fetchone()
        if row is None:
            return None
        kind, asked, wrapped, body = row
        bound = f"refused/{ref}".encode()
        return Refused(kind, asked, decrypt(AESGCM(decrypt(self._master, wrapped, bound)), body, bound))

    def body(self, ref: str) -> bytes | None:
        """Return the bytes of a quarantined body, or None if it is no longer kept."""
        refused = self.open(ref)
        return None if refused is None else refused.body

    def refs(self, kind: str) -> list[str]:
        """Return the references of a kind's quarantined bodies, oldest first."""
        rows = self._db.execute("select ref from refused where kind = ? order by refused_at, load_id, ref", (kind,))
        return [ref for (ref,) in rows]

    def stored_bytes(self, kind: str) -> int:
        """Return about how many bytes the quarantined bodies of a kind take, encrypted."""
        query = "select coalesce(sum(length(body) + ?), 0) from refused where kind = ?"
        (size,) = self._db.execute(query, (ROW_BYTES, kind)).fetchone()
        return int(size)

    def forget_oldest(self, kind: str, leave: int) -> list[str]:
        """Delete the oldest bodies of a kind, so that at most `leave` bytes stay; return their references."""
        excess = self.stored_bytes(kind) - leave
        gone: list[str] = []
        query = "select ref, length(body) from refused where kind = ? order by refused_at, load_id, ref"
        for ref, size in self._db.execute(query, (kind,)).fetchall():
            if excess <= 0:
                break
            gone.append(ref)
            excess -= size + ROW_BYTES
        self.forget(gone)
        return gone

    def forget(self, refs: Iterable[str]) -> None:
        """Delete bodies that have since been accepted."""
        with transaction(self._db):
            self._db.executemany("delete from refused where ref = ?", [(ref,) for ref in refs])

    def purge(self, now: dt.datetime) -> int:
        """Delete bodies older than `quarantine_retention_days`, and than 30 if nobody can read whose they are.

        Return how many.
        """
        gone = []
        for days in sorted({self._days, min(self._days, _UNREAD_DAYS)}):
            limit = (now - dt.timedelta(days=days)).astimezone(dt.UTC).isoformat()
            refs = [ref for (ref,) in self._db.execute("select ref from refused where refused_at < ?", (limit,))]
            gone += [ref for ref in refs if days == self._days or not is_readable(self.body(ref) or b"")]
        self.forget(set(gone))
        return len(set(gone))


_LENGTH_BYTES = 4


class FetchedBody(msgspec.Struct, frozen=True, array_like=True):
    """The outcome of requesting an id: status and body, or an error code and reason; and its cost."""

    id: int
    fetched_at: dt.datetime
    status: int | None
    body: bytes = b""
    code: str = ""
    reason: str = ""
    ms: int = 0
    size: int = 0
    tries: int = 0  # 0: written before this was recorded
    earlier: tuple[tuple[int | None, str, int, int], ...] = ()  # attempts but the last: status, code, ms, bytes
    age: float = 0.0  # seconds that a cache kept it


class Left(NamedTuple):
    """What a killed process left: its load and the responses in order."""

    load_id: str
    answers: list[FetchedBody]


class _Head(msgspec.Struct, frozen=True, array_like=True):
    load_id: str
    key: bytes  # wrapped by the master key


def open_spool(settings: Settings, kind: str) -> Spool:
    """Open the spool of a kind; raise VaultError for missing or wrong keys."""
    return Spool(settings.data_dir / "vault" / f"spool-{kind}", AESGCM(read_keys(settings).master))


class Spool:
    """The spool of one kind: `left` first, then `begin`, `add` …, `end` for each load."""

    def __init__(self, path: Path, master: AESGCM) -> None:
        self._path = path
        self._master = master
        self._descriptor = -1
        self._cipher = master
        self._no = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def left(self) -> Left | None:
        """Return what a killed process left, up to the last complete record; None if there is nothing."""
        try:
            written = self._path.read_bytes()
        except FileNotFoundError:
            return None
        records = _records(written)
        try:
            head = msgspec.msgpack.decode(next(records), type=_Head)
        except (StopIteration, msgspec.DecodeError):
            return None
        cipher = AESGCM(decrypt(self._master, head.key, f"spool/{head.load_id}".encode()))
        answers = []
        for no, record in enumerate(records):
            try:
                plain = decrypt(cipher, record, str(no).encode())
            except VaultError:
                break
            answers.append(msgspec.msgpack.decode(plain, type=FetchedBody))
        return Left(head.load_id, answers)

    def begin(self, load_id: str, answers: Iterable[FetchedBody] = ()) -> None:
        """Start a load's spool with these responses, replacing an earlier one."""
        self._close()
        make_folder(self._path.parent, 0o700)
        draft = self._path.with_name(self._path.name + ".tmp")
        draft.unlink(missing_ok=True)
        self._descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_APPEND, 0o600)
        key = os.urandom(KEY_BYTES)
        wrapped = encrypt(self._master, os.urandom(NONCE_BYTES), key, f"spool/{load_id}".encode())
        self._cipher, self._no = AESGCM(key), 0
        self._write(msgspec.msgpack.encode(_Head(load_id, wrapped)))
        for answer in answers:
            self.add(answer)
        draft.replace(self._path)

    def add(self, answer: FetchedBody) -> None:
        """Append a response."""
        # The key is used for this file only, so a counter is a safe nonce.
        nonce = self._no.to_bytes(NONCE_BYTES, "big")
        self._write(encrypt(self._cipher, nonce, msgspec.msgpack.encode(answer), str(self._no).encode()))
        self._no += 1

    def end(self) -> None:
        """Remove the spool: its responses are landed."""
        self._close()
        self._path.unlink(missing_ok=True)

    def _write(self, record: bytes) -> None:
        # One write per record: a kill leaves at most one incomplete record, at the end.
        whole = len(record).to_bytes(_LENGTH_BYTES, "big") + record
        try:
            written = os.write(self._descriptor, whole)
        except OSError as error:
            raise VaultError(f"{self._path} cannot be written: {error.strerror}") from None
        if written != len(whole):
            raise VaultError(f"{self._path} cannot be written completely: is the disk full?")

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _records(written: bytes) -> Iterator[bytes]:
    place = 0
    while place + _LENGTH_BYTES <= len(written):
        length = int.from_bytes(written[place : place + _LENGTH_BYTES], "big")
        place += _LENGTH_BYTES
        if place + length > len(written):
            return
        yield written[place : place + length]
        place += length
