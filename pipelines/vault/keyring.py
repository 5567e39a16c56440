"""Keep in the vault the key that signs the ledger's head, wrapped by the master key, and the head that was signed.

Rotating the vault's keys wraps them again and does not change them.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault.database import opened, transaction
from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, VaultError, decrypt, encrypt, read_keys
from pipelines.vault.rotation import require_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.inventory import Head
    from pipelines.settings import Settings

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
