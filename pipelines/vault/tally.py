"""Tally the vault's rows: who removes, adds or moves one without the keys is noticed.

The tally has of each table the number of rows and a sum of keyed hashes, encrypted by a key that the master key wraps.
Triggers of a connection with the keys note what a transaction inserts and deletes, and the tally is written with it.
"""

import hashlib
import json
import os
from typing import Any

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault.bodies import KEY_BYTES, TALLIED, VaultError, decrypt, encrypt, stated
from pipelines.vault.database import VaultConnection

_KEY, _SUMS = "key/rows", "rows"  # in meta
_COLUMNS = {  # of a table, what tells its rows; what else a version has is bound to them by its encryption
    "personal_data": "kind, id, no, load_id, seq",
    "erased": "kind, id",
    "lookups": "hash, customer",
    "shared": "hash",
}
_SIZE = 16
_Sums = dict[str, list[int]]  # table → count and sum


class VaultTally:
    """The tally of a vault that is open."""

    def __init__(self, db: VaultConnection, master: AESGCM) -> None:
        self._db, self._master = db, master
        self._key = b""
        self._changes: _Sums = {}
        db.create_function("note_tallied", -1, self._note)
        for table, columns in _COLUMNS.items():
            for event, row, sign in (("insert", "new", 1), ("delete", "old", -1)):
                values = ", ".join(f"{row}.{column}" for column in columns.split(", "))
                query = f"create temp trigger tally_{table}_{event} after {event}"
                db.execute(f"{query} on main.{table} begin select note_tallied('{table}', {sign}, {values}); end")
        db.began, db.ending = self._begin, self._write

    def renew(self, *tables: str) -> None:
        """Tally the rows that there are, of these tables or all; within a transaction."""
        kept = self._kept() if tables else {}
        if kept is None:
            return
        if not tables:
            self._key = os.urandom(KEY_BYTES)
            wrapped = encrypt(self._master, self._key, _KEY.encode())
            self._db.execute("insert or replace into meta values (?, ?)", (_KEY, wrapped))
        self._keep(kept | {table: self._counted(table) for table in tables or _COLUMNS})
        self._changes.clear()

    def broken(self, *tables: str) -> list[str]:
        """Return what differs from the tally in these tables, or in all; nothing before the vault is tallied."""
        if is_own := not self._db.in_transaction:
            self._db.execute("begin")  # one moment of all: another process may commit a load meanwhile
        try:
            if TALLIED not in stated(self._db, self._master):
                return []
            self._read_key()
            kept, found = self._kept() or {}, []
            for table in tables or _COLUMNS:
                (now, _), (then, _) = both = self._counted(table), kept.get(table, [-1, 0])
                if both[0] != both[1]:
                    is_count = 0 <= then != now
                    how = f"{now:,} rows instead of {then:,}" if is_count else "other rows than were recorded"
                    found.append(f"{table.replace('_', ' ')}: {how}")
            return found
        finally:
            if is_own:
                self._db.execute("commit")

    def _begin(self) -> None:
        self._changes.clear()
        self._read_key()

    def _read_key(self) -> None:
        found = self._db.execute("select value from meta where name = ?", (_KEY,)).fetchone()
        try:
            self._key = decrypt(self._master, found[0], _KEY.encode()) if found else b""
        except (VaultError, ValueError):
            self._key = b""

    def _write(self) -> None:
        """Write the tally with the changes of the transaction; a broken one stays broken."""
        if self._changes and (kept := self._kept()) is not None:
            for table, (count, total) in self._changes.items():
                kept[table] = [kept[table][0] + count, (kept[table][1] + total) % (1 << 8 * _SIZE)]
            self._keep(kept)
        self._changes.clear()

    def _note(self, table: str, sign: int, *values: Any) -> None:
        found = self._changes.setdefault(table, [0, 0])
        found[0] += sign
        found[1] += sign * self._hash(table, values)

    def _hash(self, table: str, values: tuple[Any, ...]) -> int:
        row = msgspec.msgpack.encode((table, *values))
        return int.from_bytes(hashlib.blake2b(row, digest_size=_SIZE, key=self._key).digest(), "big")

    def _counted(self, table: str) -> list[int]:
        count = total = 0
        for row in self._db.execute(f"select {_COLUMNS[table]} from {table}"):
            count, total = count + 1, total + self._hash(table, row)
        return [count, total % (1 << 8 * _SIZE)]

    def _kept(self) -> _Sums | None:
        """Return the sums that are tallied; None if there are none, or they cannot be decrypted."""
        found = self._db.execute("select value from meta where name = ?", (_SUMS,)).fetchone()
        try:
            plain = decrypt(AESGCM(self._key), found[0], _SUMS.encode()) if found and self._key else b"null"
        except (VaultError, ValueError):
            return None
        kept: _Sums | None = json.loads(plain)
        return kept

    def _keep(self, sums: _Sums) -> None:
        content = encrypt(AESGCM(self._key), json.dumps(sums).encode(), _SUMS.encode())
        self._db.execute("insert or replace into meta values (?, ?)", (_SUMS, content))
