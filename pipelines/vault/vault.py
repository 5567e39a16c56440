"""Seal and open personal data: one key per customer, wrapped by the master key.

Whoever destroys a customer's wrapped key has erased everything sealed for that customer.
Knows nothing of documents' shapes: it is given pointers and values, and binds them to a kind and an id.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
import sqlite3
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.vault.customers import Lookup
from pipelines.vault.keys import KEY_BYTES, NONCE_BYTES, Keys, VaultError, read_keys, seal, unseal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from pipelines.settings import Settings

_EMPTY = b"{}"
_CIPHERS_KEPT = 20_000
_ASKED_AT_ONCE = 500
_CHECK = b"ordermart vault"
_NAME_BYTES = 16
_RANDOM_AT_ONCE = 8_192

_SCHEMA = """
create table if not exists meta (name text primary key, value blob not null) without rowid;
create table if not exists customers (
    n integer primary key, customer_key text not null, wrapped blob -- null once erased
);
create table if not exists lookups (
    hash blob not null, customer integer not null, primary key (hash, customer)
) without rowid;
create table if not exists sealed (
    kind text not null, id integer not null, no integer not null, customer integer not null,
    digest blob not null, load_id text not null, seq integer not null, body blob not null,
    primary key (kind, id, no)
) without rowid;
create table if not exists refused (
    ref text primary key, kind text not null, asked integer, load_id text not null, refused_at text not null,
    wrapped blob not null, body blob not null
) without rowid;
create table if not exists open_loads (load_id text primary key, kind text not null) without rowid;
"""


class Sealing(msgspec.Struct, gc=False):
    """What is to be sealed of one document: `content` is a JSON object, pointer → value."""

    id: int
    seq: int
    phone: str | None
    email: str | None
    content: bytes


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """Under which customer it was sealed, and which fields differ from what was sealed before."""

    customer_key: str | None
    changed: list[str]


class Refused(NamedTuple):
    """A refused body, opened."""

    kind: str
    asked: int | None
    body: bytes


_NOTHING = Sealed(None, [])
_Previous = tuple[int, int, bytes]  # no, customer, digest


def open_vault(settings: Settings) -> Vault:
    """Open the vault below `settings.data_dir`, made if need be; raise VaultError for missing or wrong keys."""
    return Vault(settings.data_dir / "vault" / "vault.sqlite", read_keys(settings), settings.vault.refused_days)


class Vault:
    """A connection to the vault. Use it as a context manager; one load writes at a time."""

    def __init__(self, path: Path, keys: Keys, refused_days: int = 30) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._refused_days = refused_days
        self._master = AESGCM(keys.master)
        self._lookup = Lookup(keys.lookup)
        self._ciphers: dict[int, tuple[str, AESGCM]] = {}
        self._db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        path.chmod(0o600)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = normal")
        self._db.execute("pragma secure_delete = on")
        self._db.execute("pragma cache_size = -65536")
        try:
            self._db.executescript(_SCHEMA)
            self._check_keys()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the vault's file; nothing is left in a write-ahead log."""
        self._db.close()

    # -- a load's life -------------------------------------------------------------------------------------

    def begin(self, load_id: str, kind: str) -> None:
        """Note that a load writes here; `undo` takes back what it wrote unless `finish` follows."""
        self._db.execute("insert into open_loads values (?, ?)", (load_id, kind))

    def finish(self, load_id: str) -> None:
        """Note that a load's raw files are in place."""
        self._db.execute("delete from open_loads where load_id = ?", (load_id,))

    def undo(self, load_id: str) -> None:
        """Take back what a load sealed; its customers stay, since others may have met them since."""
        with _transaction(self._db):
            self._db.execute("delete from sealed where load_id = ?", (load_id,))
            self._db.execute("delete from refused where load_id = ?", (load_id,))
            self._db.execute("delete from open_loads where load_id = ?", (load_id,))

    def open_loads(self, kind: str) -> list[str]:
        """Return the loads of a kind that began here and neither finished nor were undone."""
        rows = self._db.execute("select load_id from open_loads where kind = ? order by 1", (kind,))
        return [load_id for (load_id,) in rows]

    def sync(self) -> None:
        """Make everything sealed so far durable."""
        self._db.execute("pragma synchronous = full")
        with _transaction(self._db):
            self._db.execute("insert or replace into meta values ('synced', ?)", (os.urandom(8),))
        self._db.execute("pragma synchronous = normal")

    # -- sealing -------------------------------------------------------------------------------------------

    def seal(self, kind: str, load_id: str, batch: Sequence[Sealing]) -> list[Sealed]:
        """Seal a batch in one transaction; a row is added only where the content changed."""
        with _transaction(self._db):
            return self._seal(kind, load_id, batch)

    def _seal(self, kind: str, load_id: str, batch: Sequence[Sealing]) -> list[Sealed]:
        if len(self._ciphers) > _CIPHERS_KEPT:
            self._ciphers.clear()
        hashes = [self._hashes(item) for item in batch]
        known = self._known({h for own in hashes for h in own})
        previous = self._previous(kind, {item.id for item in batch})
        self._load_ciphers({before[1] for before in previous.values()})
        (last,) = self._db.execute("select coalesce(max(n), 0) from customers").fetchone()
        random = _Random()
        customers: list[tuple[int, str, bytes]] = []
        lookups: list[tuple[bytes, int]] = []
        rows: list[tuple[str, int, int, int, bytes, str, int, bytes]] = []
        results: list[Sealed] = []
        digest_of, ciphers = self._lookup.digest, self._ciphers
        for item, own in zip(batch, hashes, strict=True):
            before = previous.get(item.id)
            if item.content == _EMPTY and before is None:
                results.append(_NOTHING)
                continue
            n = 0
            for h in own:
                if (n := known.get(h, 0)) != 0:
                    break
            if n == 0 and before is not None and not own and before[1] in ciphers:
                n = before[1]
            if n == 0:
                last = n = last + 1
                customers.append(self._new_customer(n, random))
            customer_key, cipher = ciphers[n]
            for h in own:
                if known.get(h) != n:
                    lookups.append((h, n))
                    known.setdefault(h, n)
            digest = digest_of(item.content)
            if before is not None and before[2] == digest:
                results.append(Sealed(customer_key, []))
                continue
            bound = f"{kind}/{item.id}/{customer_key}".encode()
            body = seal(cipher, random.take(NONCE_BYTES), item.content, bound)
            no = 1 if before is None else before[0] + 1
            changed = [] if before is None else self._changed(kind, item, before, rows)
            rows.append((kind, item.id, no, n, digest, load_id, item.seq, body))
            previous[item.id] = (no, n, digest)
            results.append(Sealed(customer_key, changed))
        self._db.executemany("insert into customers values (?, ?, ?)", customers)
        self._db.executemany("insert or ignore into lookups values (?, ?)", lookups)
        self._db.executemany("insert into sealed values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return results

    def _new_customer(self, n: int, random: _Random) -> tuple[int, str, bytes]:
        key, customer_key = random.take(KEY_BYTES), random.take(_NAME_BYTES).hex()
        self._ciphers[n] = (customer_key, AESGCM(key))
        return n, customer_key, seal(self._master, random.take(NONCE_BYTES), key, customer_key.encode())

    def _changed(self, kind: str, item: Sealing, before: _Previous, rows: list[Any]) -> list[str]:
        body = next((row[7] for row in rows if row[1] == item.id and row[2] == before[0]), None)
        try:
            old = self._open(kind, item.id, before[0], body)
        except VaultError:  # erased: nothing is known of what it was
            old = {}
        new = _values(item.content)
        return sorted(
            {
                _pattern(pointer)
                for pointer in old.keys() | new.keys()
                if pointer not in old or pointer not in new or old[pointer] != new[pointer]
            }
        )

    def refuse(
        self, kind: str, load_id: str, bodies: Iterable[tuple[int | None, bytes]], now: dt.datetime
    ) -> list[str]:
        """Seal refused bodies, each under a key of its own; return a random reference to each."""
        rows = []
        for asked, body in bodies:
            ref, key = secrets.token_hex(16), os.urandom(KEY_BYTES)
            bound = f"refused/{ref}".encode()
            wrapped = seal(self._master, os.urandom(NONCE_BYTES), key, bound)
            sealed = seal(AESGCM(key), os.urandom(NONCE_BYTES), body, bound)
            rows.append((ref, kind, asked, load_id, now.astimezone(dt.UTC).isoformat(), wrapped, sealed))
        with _transaction(self._db):
            self._db.executemany("insert into refused values (?, ?, ?, ?, ?, ?, ?)", rows)
        return [row[0] for row in rows]

    def purge_refused(self, now: dt.datetime) -> int:
        """Forget refused bodies older than `refused_days`; return how many went."""
        limit = (now - dt.timedelta(days=self._refused_days)).astimezone(dt.UTC).isoformat()
        with _transaction(self._db):
            return self._db.execute("delete from refused where refused_at < ?", (limit,)).rowcount

    # -- opening -------------------------------------------------------------------------------------------

    def open_sealed(self, kind: str, id: int, *, at: tuple[str, int] | None = None) -> dict[str, Any]:  # noqa: A002
        """Return pointer → value of what is sealed for a document, numbers as int or Decimal.

        `at` is a load_id and seq: what was in force then. {} when nothing was ever sealed; VaultError when erased.
        """
        load_id, seq = at or ("~", 0)
        row = self._db.execute(
            "select no from sealed where kind = ? and id = ? and (load_id, seq) <= (?, ?) order by no desc limit 1",
            (kind, id, load_id, seq),
        ).fetchone()
        return self._open(kind, id, row[0]) if row else {}

    def open_refused(self, ref: str) -> Refused | None:
        """Return a refused body, or None when it is no longer kept."""
        row = self._db.execute("select kind, asked, wrapped, body from refused where ref = ?", (ref,)).fetchone()
        if row is None:
            return None
        kind, asked, wrapped, body = row
        bound = f"refused/{ref}".encode()
        return Refused(kind, asked, unseal(AESGCM(unseal(self._master, wrapped, bound)), body, bound))

    def _open(self, kind: str, id: int, no: int, body: bytes | None = None) -> dict[str, Any]:  # noqa: A002
        row = self._db.execute(
            "select customer, body from sealed where kind = ? and id = ? and no = ?", (kind, id, no)
        ).fetchone()
        n, sealed = row
        self._load_ciphers({n})
        if n not in self._ciphers:
            raise VaultError(f"what was sealed for {kind} {id} was erased")
        customer_key, cipher = self._ciphers[n]
        return _values(unseal(cipher, body or sealed, f"{kind}/{id}/{customer_key}".encode()))

    def _hashes(self, item: Sealing) -> list[bytes]:
        """Return the keyed hashes under which a customer is found: of the phone, of the e-mail."""
        phone = self._lookup.phone(item.phone) if item.phone else b""
        email = self._lookup.email(item.email) if item.email else b""
        return [h for h in (phone, email) if h]

    # -- looking up ----------------------------------------------------------------------------------------

    def _known(self, hashes: set[bytes]) -> dict[bytes, int]:
        """Return the first customer of each hash who was not erased, with the ciphers at hand."""
        found: list[tuple[bytes, int]] = []
        for part in _parts(hashes):
            marks = ", ".join("?" * len(part))
            found += self._db.execute(f"select hash, customer from lookups where hash in ({marks})", part).fetchall()
        self._load_ciphers({n for _, n in found})
        ciphers = self._ciphers
        return {h: n for h, n in sorted(found, reverse=True) if n in ciphers}

    def _previous(self, kind: str, ids: set[int]) -> dict[int, _Previous]:
        found: dict[int, _Previous] = {}
        for part in _parts(ids):
            marks = ", ".join("?" * len(part))
            query = f"select id, no, customer, digest from sealed where kind = ? and id in ({marks}) order by id, no"
            for id_, no, customer, digest in self._db.execute(query, (kind, *part)):
                found[id_] = (no, customer, digest)
        return found

    def _load_ciphers(self, customers: set[int]) -> None:
        for part in _parts(customers - self._ciphers.keys()):
            marks = ", ".join("?" * len(part))
            query = f"select n, customer_key, wrapped from customers where n in ({marks}) and wrapped is not null"
            for n, customer_key, wrapped in self._db.execute(query, part).fetchall():
                key = unseal(self._master, wrapped, customer_key.encode())
                self._ciphers[n] = (customer_key, AESGCM(key))

    def _check_keys(self) -> None:
        with _transaction(self._db):
            held = dict(self._db.execute("select name, value from meta").fetchall())
            if "master_check" not in held:
                sealed = seal(self._master, os.urandom(NONCE_BYTES), _CHECK, _CHECK)
                self._db.execute("insert into meta values ('master_check', ?)", (sealed,))
                self._db.execute("insert into meta values ('lookup_check', ?)", (self._lookup.check,))
                return
        try:
            unseal(self._master, held["master_check"], _CHECK)
        except VaultError:
            raise VaultError("[vault] master_key is not the key that this vault was made with") from None
        if held["lookup_check"] != self._lookup.check:
            raise VaultError("[vault] lookup_secret is not the secret that this vault was made with")


class _Random:
    """Random bytes, asked of the kernel many at a time."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def take(self, size: int) -> bytes:
        """Return bytes that were never given out before."""
        start = self._at
        self._at = start + size
        if self._at > len(self._bytes):
            self._bytes, start, self._at = os.urandom(_RANDOM_AT_ONCE), 0, size
        return self._bytes[start : self._at]


class _transaction:  # noqa: N801
    """`begin immediate` … `commit`, or `rollback` when the block raises."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("begin immediate")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._db.execute("commit" if kind is None else "rollback")


def _parts(values: set[Any]) -> Iterable[list[Any]]:
    chosen = sorted(values)
    for start in range(0, len(chosen), _ASKED_AT_ONCE):
        yield chosen[start : start + _ASKED_AT_ONCE]


def _values(content: bytes) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(content, parse_float=Decimal)
    return values


def _pattern(pointer: str) -> str:
    return "/".join("*" if part.isdigit() else part for part in pointer.split("/")).removeprefix("/")
