"""Keep further keys in the vault, wrapped by the master key: one signs the ledger's head.

Rotating the vault's keys wraps them again and does not change them.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault.database import opened
from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, VaultError, decrypt, encrypt, read_keys
from pipelines.vault.rotation import require_key

if TYPE_CHECKING:
    from pipelines.settings import Settings

_LEDGER = "key/ledger"


def ledger_seed(settings: Settings) -> bytes:
    """Return the 32 bytes of the key that signs the ledger's head, made when it is first needed.

    Raise VaultError if there is no vault yet, it cannot be opened, or the keys are not set.
    """
    path = settings.data_dir / "vault" / "vault.sqlite"
    master = AESGCM(read_keys(settings).master)
    if not path.exists():
        raise VaultError("there is no vault yet, which keeps the key that signs the ledger's head")
    try:
        with closing(opened(path)) as db:
            require_key(db, master)
            made = encrypt(master, os.urandom(NONCE_BYTES), os.urandom(KEY_BYTES), _LEDGER.encode())
            db.execute("insert or ignore into meta values (?, ?)", (_LEDGER, made))
            (wrapped,) = db.execute("select value from meta where name = ?", (_LEDGER,)).fetchone()
            return decrypt(master, wrapped, _LEDGER.encode())
    except sqlite3.Error as error:
        raise VaultError(f"the vault cannot be read: {error}") from None
