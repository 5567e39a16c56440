"""Change the two secrets of a vault: wrap every key again, and compute lookup hashes and digests with the new secret.

One transaction: killed at any point, the vault has the old secrets and the rotation starts again, or has the new ones.
Bodies stay as they are, since they are encrypted with the customers' own keys. The key that signs the ledger's head is
kept in the vault, wrapped by the master key, with the head that was signed: rotating wraps it again.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.clock import utc_now
from pipelines.vault.database import Lookup, contact, opened, transaction
from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, Keys, VaultError, decrypt, encrypt, read_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.inventory import Head
    from pipelines.settings import Settings


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


_LEDGER, _HEAD = "key/ledger", "ledger/head"


def ledger_key(settings: Settings) -> bytes:
    """Return the 32 bytes of the key that signs the ledger's head; raise VaultError if there is none, or no keys."""
    master = AESGCM(read_keys(settings).master)
    with _reading(settings) as db:
        row = db.execute("select value from meta where name = ?", (_LEDGER,)).fetchone()
        if row is None:
            raise VaultError("the vault has no key yet that signs the ledger's head")
        return decrypt(master, row[0], _LEDGER.encode())


def keep_ledger_head(settings: Settings, signed: Callable[[bytes], Head]) -> Head:
    """Keep the head that `signed` makes with the key, which is made when it is first needed; return it.

    Raise VaultError if there is no vault yet, it cannot be opened, or the keys are not set.
    """
    master = AESGCM(read_keys(settings).master)
    with _reading(settings) as db, transaction(db):  # key and head at once: a key without a head has lost it
        require_key(db, master)
        made = encrypt(master, os.urandom(NONCE_BYTES), os.urandom(KEY_BYTES), _LEDGER.encode())
        db.execute("insert or ignore into meta values (?, ?)", (_LEDGER, made))
        (wrapped,) = db.execute("select value from meta where name = ?", (_LEDGER,)).fetchone()
        head = signed(decrypt(master, wrapped, _LEDGER.encode()))
        db.execute("insert or replace into meta values (?, ?)", (_HEAD, msgspec.json.encode(head)))
        return head


def kept_ledger_head(path: Path) -> tuple[bool, bytes | None]:
    """Return whether a vault has the key, and the head that it keeps; needs no keys."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=30)) as db:
        query = "select name, value from meta where name in (?, ?)"
        found = dict(db.execute(query, (_LEDGER, _HEAD)).fetchall())
    return _LEDGER in found, found.get(_HEAD)


@contextmanager
def _reading(settings: Settings) -> Iterator[sqlite3.Connection]:
    path = settings.data_dir / "vault" / "vault.sqlite"
    if not path.exists():
        raise VaultError("there is no vault yet, which keeps the key that signs the ledger's head")
    try:
        with closing(opened(path)) as db:
            yield db
    except sqlite3.Error as error:
        raise VaultError(f"the vault cannot be read: {error}") from None
