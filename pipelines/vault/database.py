"""The vault's SQLite file: its tables, transactions, the content of rows, and how a customer is found.

A customer is found by phone or e-mail, of which neither is stored: keyed hashes of the contacts that contacts.py
reads in them. The content of a row is a JSON object, pointer → value.
"""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec

from pipelines.durable import make_folder
from pipelines.inventory import LedgerHead, track
from pipelines.resources import resource
from pipelines.vault.contacts import cleaned, normal_email, normal_phone

ROW = "kind, id, no, customer, load_id, seq, body"  # of a version
RULE = "rule"  # in meta: by which all orders are filed
MALFORMED = "database disk image is malformed"  # as SQLite says it
_ASKED_AT_ONCE = 500


class VaultConnection(sqlite3.Connection):
    """A connection of which `began` and `ending` are called within each transaction."""

    began: Callable[[], None] = staticmethod(lambda: None)
    ending: Callable[[], None] = staticmethod(lambda: None)


def opened(path: Path) -> VaultConnection:
    """Open the file, created if necessary, readable by its owner only; deleted content is overwritten."""
    make_folder(path.parent, 0o700)
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False, factory=VaultConnection)
    try:
        path.chmod(0o600)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute("pragma secure_delete = on")
        db.execute("pragma cache_size = -65536")
        db.executescript((resource("sql") / "vault" / "tables.sql").read_text(encoding="utf-8"))
        if not any(name == "owns" for _, name, *_ in db.execute("pragma table_info(lookups)")):
            db.execute("alter table lookups add column owns integer not null default 0")
        track(db, "vault/vault.sqlite")
    except UnicodeDecodeError:  # SQLite quotes a text of its tables that is damaged
        db.close()
        raise sqlite3.DatabaseError(MALFORMED) from None
    except BaseException:
        db.close()
        raise
    return db


class transaction:  # noqa: N801 -- used like a function
    """`begin immediate` … `commit`, or `rollback` when the block raises."""

    def __init__(self, db: VaultConnection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("begin immediate")
        self._db.began()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._db.ending()
        self._db.execute("commit" if kind is None else "rollback")


def select_in_parts(db: sqlite3.Connection, query: str, values: set[Any], *before: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query for all `$values` in it, which follow the arguments `before`, part by part."""
    chosen = sorted(values)
    for start in range(0, len(chosen), _ASKED_AT_ONCE):
        part = chosen[start : start + _ASKED_AT_ONCE]
        yield from db.execute(query.replace("$values", ", ".join("?" * len(part))), (*before, *part)).fetchall()


def erased_ids(db: sqlite3.Connection, kind: str, ids: set[int]) -> set[int]:
    """Return which of these documents were erased."""
    if db.execute("select 1 from erased limit 1").fetchone() is None:
        return set()
    query = "select id from erased where kind = ? and id in ($values)"
    return {id_ for (id_,) in select_in_parts(db, query, ids, kind)}


def all_erased(path: Path, kind: str) -> set[int]:
    """Return all documents that a vault's file says were erased; it needs no keys."""
    with closing(opened(path)) as db:
        return {id_ for (id_,) in db.execute("select id from erased where kind = ?", (kind,)).fetchall()}


HASH_BYTES = 16
_REMEMBERED = 20_000  # phone numbers and e-mail addresses: customers return; in memory only


class Lookup:
    """Compute the keyed hashes that identify customers: HMAC-SHA256, truncated to 128 bits."""

    def __init__(self, secret: bytes) -> None:
        self._keyed = hmac.new(secret, digestmod="sha256")  # its inner states are computed once, and copied
        # The hash of a phone number of a country, and of an e-mail address; b"" if it is nobody's.
        self.phone = lru_cache(_REMEMBERED)(partial(_of_contact, self._keyed, b"phone:", normal_phone))
        self.email = lru_cache(_REMEMBERED)(partial(_of_contact, self._keyed, b"email:", normal_email))
        self._digest_key = hmac.digest(secret, b"digest of tallied content", "sha256")  # stored name
        self.check = hmac.digest(secret, b"check of the lookup secret", "sha256")

    def hash(self, text: bytes) -> bytes:
        """Return HMAC-SHA256 of `text`, truncated to 16 bytes."""
        return _truncated(self._keyed, text)

    def digest(self, content: bytes) -> bytes:
        """Return a keyed digest, which differs if the content changed."""
        return hashlib.blake2b(content, digest_size=HASH_BYTES, key=self._digest_key).digest()


def _truncated(keyed: hmac.HMAC, text: bytes) -> bytes:
    found = keyed.copy()
    found.update(text)
    return found.digest()[:HASH_BYTES]


def _of_contact(keyed: hmac.HMAC, kind: bytes, normalised: Callable[..., str], *text: str) -> bytes:
    normal = normalised(*text)
    return _truncated(keyed, kind + normal.encode(errors="surrogatepass")) if normal else b""


def values(content: bytes) -> dict[str, Any]:
    """Return pointer → value, numbers as int or Decimal, else as text."""
    found: dict[str, Any] = json.loads(content, parse_int=_integer, parse_float=_fraction)
    return found


def pattern(pointer: str) -> str:
    """Return a pointer without the places of array elements, `items/*/name`."""
    return "/".join("*" if part.isdigit() else part for part in pointer.split("/")).removeprefix("/")


def contact(content: bytes) -> tuple[str, str]:
    """Return the phone number and the e-mail address of an order's content, "" for one that it lacks."""
    found = values(content)
    phone, email = (found.get(pointer) for pointer in ("/user_phone", "/user_email"))
    return phone if isinstance(phone, str) else "", email if isinstance(email, str) else ""


def person_of(content: bytes) -> str:
    """Return the name in an order's content, however it is cased, "" for none."""
    return cleaned(str(values(content).get("/user_name") or "")).casefold()


def _integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:  # thousands of digits
        return text


def _fraction(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent out of range
        return text


def forget_later_loads(copy: Path, landed: Iterable[str], since: str, head: LedgerHead | None) -> None:
    """Note loads from `since` on that are not `landed` as killed, to be undone, and the copied ledger's `head`."""
    known = set(landed)
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
        rows = db.execute(
            """
            select load_id, kind from personal_data where load_id >= ?1
            union select load_id, kind from refused where load_id >= ?1 and kind <> 'webhooks'
            """,
            (since,),
        ).fetchall()
        db.execute("begin")
        later = [row for row in rows if row[0] not in known]
        db.executemany("insert or ignore into open_loads values (?, ?)", later)
        if head is not None and head.signature:
            query = "update meta set value = ? where name = 'ledger/head' and value <> ?"
            db.execute(query, (msgspec.json.encode(head),) * 2)
        db.execute("commit")
