"""Change the two secrets of a vault: wrap every key again, and compute lookup hashes and digests with the new secret.

One transaction: killed at any point, the vault has the old secrets and the rotation starts again, or has the new ones.
Bodies stay as they are, since they are encrypted with the customers' own keys.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.clock import utc_now
from pipelines.vault.content import contact
from pipelines.vault.customers import Lookup
from pipelines.vault.database import opened, transaction
from pipelines.vault.keys import NONCE_BYTES, Keys, VaultError, decrypt, encrypt

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

CHECK = b"ordermart vault"
_ROWS_AT_ONCE = 1_000


class Rotated(NamedTuple):
    """The data that the new secrets protect; `is_new` is false if the vault had them already."""

    customers: int
    versions: int
    at: str
    is_new: bool


def rotate(path: Path, old: Keys, new: Keys, progress: Callable[[str, int, int], None] | None = None) -> Rotated:
    """Give a vault its new secrets; if it has them already, change nothing.

    The caller holds the run lock. Responses of a killed run are removed: they are requested again. Raise VaultError if
    the vault has neither pair of secrets.
    """
    with closing(opened(path)) as db:
        if is_keyed(db, new):
            row = db.execute("select value from meta where name = 'rotated_at'").fetchone()
            (customers,) = db.execute("select count(*) from customers where wrapped is not null").fetchone()
            (versions,) = db.execute("select count(*) from personal_data").fetchone()
            return Rotated(customers, versions, bytes(row[0]).decode() if row else "", is_new=False)
        if not is_keyed(db, old):
            raise VaultError("the vault has neither the keys of the settings nor those of the new key file")
        for spool in path.parent.glob("spool-*"):
            spool.unlink()
        now = utc_now().isoformat(timespec="microseconds")
        with transaction(db):
            rotated = _Rotation(db, old, new, progress or (lambda *_: None)).run()
            db.execute("insert or replace into meta values ('rotated_at', ?)", (now.encode(),))
        db.execute("pragma wal_checkpoint(truncate)")
        return Rotated(*rotated, now, is_new=True)


def is_keyed(db: sqlite3.Connection, keys: Keys) -> bool:
    """Tell whether a vault has these secrets."""
    held = dict(db.execute("select name, value from meta").fetchall())
    try:
        decrypt(AESGCM(keys.master), held.get("master_check", b""), CHECK)
    except (VaultError, ValueError):
        return False
    return bool(held.get("lookup_check") == Lookup(keys.lookup).check)


def require_key(db: sqlite3.Connection, master: AESGCM) -> None:
    """Raise VaultError if another process has rotated the keys since this one read them."""
    row = db.execute("select value from meta where name = 'master_check'").fetchone()
    try:
        decrypt(master, row[0] if row else b"", CHECK)
    except (VaultError, ValueError):
        raise VaultError("the vault's keys were rotated meanwhile: set the new ones and start again") from None


class _Rotation:
    def __init__(self, db: sqlite3.Connection, old: Keys, new: Keys, progress: Callable[[str, int, int], None]) -> None:
        self._db = db
        self._old, self._new = AESGCM(old.master), AESGCM(new.master)
        self._lookup = Lookup(new.lookup)
        self._progress = progress

    def run(self) -> tuple[int, int]:
        """Change everything that the secrets protect; return how many customers and versions there are."""
        customers = self._rewrap("customers", "n", "customer_key", lambda key: key.encode())
        self._rewrap("refused", "ref", "ref", lambda ref: f"refused/{ref}".encode())
        versions = self._rekey()
        check = encrypt(self._new, os.urandom(NONCE_BYTES), CHECK, CHECK)
        self._db.execute("insert or replace into meta values ('master_check', ?)", (check,))
        self._db.execute("insert or replace into meta values ('lookup_check', ?)", (self._lookup.check,))
        for name, wrapped in self._db.execute("select name, value from meta where name like 'key/%'").fetchall():
            self._db.execute("update meta set value = ? where name = ?", (self._again(wrapped, name.encode()), name))
        return customers, versions

    def _again(self, wrapped: bytes, bound_to: bytes) -> bytes:
        return encrypt(self._new, os.urandom(NONCE_BYTES), decrypt(self._old, wrapped, bound_to), bound_to)

    def _rewrap(self, table: str, key: str, bound: str, bound_to: Callable[[str], bytes]) -> int:
        """Wrap the keys of a table's rows with the new master key; return how many."""
        rows = self._db.execute(f"select {key}, {bound}, wrapped from {table} where wrapped is not null").fetchall()
        self._db.executemany(
            f"update {table} set wrapped = ? where {key} = ?",
            ((self._again(wrapped, bound_to(text)), value) for value, text, wrapped in rows),
        )
        return len(rows)

    def _rekey(self) -> int:
        """Compute digests and lookup hashes from the decrypted content; return how many versions there are."""
        (total,) = self._db.execute("select count(*) from personal_data").fetchone()
        self._db.execute("delete from lookups")
        last, done = ("", 0, 0), 0
        while rows := self._db.execute(
            "select kind, id, no, customer, customer_key, wrapped, body from personal_data "
            "join customers on customers.n = customer where (kind, id, no) > (?, ?, ?) order by kind, id, no limit ?",
            (*last, _ROWS_AT_ONCE),
        ).fetchall():
            digests, hashes = [], []
            for kind, id_, no, n, customer_key, wrapped, body in rows:
                cipher = AESGCM(decrypt(self._new, wrapped, customer_key.encode()))
                content = decrypt(cipher, body, f"{kind}/{id_}/{customer_key}".encode())
                digests.append((self._lookup.digest(content), kind, id_, no))
                if kind == "orders":
                    phone, email = contact(content)
                    hashes += [(h, n) for h in (self._lookup.phone(phone), self._lookup.email(email)) if h]
            self._db.executemany("update personal_data set digest = ? where kind = ? and id = ? and no = ?", digests)
            self._db.executemany("insert or ignore into lookups values (?, ?)", hashes)
            last, done = rows[-1][:3], done + len(rows)
            self._progress("computing lookup hashes", done, total)
        return int(total)
