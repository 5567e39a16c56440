"""Keep quarantined bodies for a while, each encrypted with its own key, so that they can be reprocessed."""

from __future__ import annotations

import datetime as dt
import os
import secrets
from typing import TYPE_CHECKING, NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault.database import erased_ids, transaction
from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, decrypt, encrypt
from pipelines.vault.rotation import require_key

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable


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
        """Delete bodies older than `quarantine_retention_days`; return how many."""
        limit = (now - dt.timedelta(days=self._days)).astimezone(dt.UTC).isoformat()
        with transaction(self._db):
            return self._db.execute("delete from refused where refused_at < ?", (limit,)).rowcount
