"""Keep bodies for a while, encrypted: those of an uncommitted load, and those in quarantine.

The spool has one file per kind, written response by response and removed when the load ends: a killed run need not
request them again. It survives the process, not the machine: it is not synced, and the next run requests whatever a
power cut loses. Quarantined bodies have a key each, so that they can be reprocessed.

Of the vault's two secrets the master key wraps every data key, and the lookup secret makes keyed hashes: neither is
useful alone. A rotation wraps every key again, and computes digests with the new secret, in one transaction: killed at
any point, the vault has the old secrets and the rotation starts again, or has the new ones. Lookup hashes are made
again when orders are filed again. Bodies stay as they are, since they are encrypted with the customers' own keys. The
key that signs the ledger's head is kept in the vault, wrapped by the master key, with the head that was signed:
rotating wraps it again.
"""

import base64
import binascii
import datetime as dt
import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pipelines.clock import utc_now
from pipelines.durable import fresh, make_folder, sync, unfinished
from pipelines.inventory import LedgerHead
from pipelines.literals import unmarked
from pipelines.settings import DEFAULT_FILE, Settings
from pipelines.vault.contacts import is_readable, own_ids
from pipelines.vault.database import MALFORMED, ROW, RULE, Lookup, VaultConnection, erased_ids, opened, transaction

KEY_BYTES = 32
NONCE_BYTES = 12
_NAMES = ("master_key", "lookup_secret")


class VaultError(Exception):
    """The vault cannot be opened or read; the message names the setting or file, never a value."""


class Keys(NamedTuple):
    """The two secrets, 32 bytes each."""

    master: bytes
    lookup: bytes

    def __repr__(self) -> str:
        return "Keys(…)"


def read_keys(settings: Settings) -> Keys:
    """Return both secrets of the settings or their key file; raise VaultError if missing, malformed or readable."""
    given = {name: getattr(settings.vault, name).reveal() for name in _NAMES}
    is_untouched = settings.file == DEFAULT_FILE or not settings.file.exists()
    if is_untouched and not any((*given.values(), settings.vault.key_file, settings.partner.client_id)):
        why = "no service is configured ([vault] master_key is missing)"
        raise VaultError(f"{why}: try `ordermart demo`, or `ordermart init shop.toml`")
    origin = dict.fromkeys(_NAMES, "the environment")
    if settings.vault.key_file:
        path = settings.file.parent / settings.vault.key_file
        allowed = settings.security.allow_readable_secrets
        for name, text in _read_key_file(path, may_be_readable=allowed).items():
            if not given[name]:
                given[name], origin[name] = text, path.name
    return Keys(*(_decoded(name, given[name], origin[name]) for name in _NAMES))


def new_keys(path: Path) -> Keys:
    """Return the secrets of a key file, which is created if it does not exist; raise VaultError if it is unusable."""
    if not path.exists():
        new_key_file(path)
    unfinished(path).unlink(missing_ok=True)  # of a kill: another name of the same file
    held = _read_key_file(path, may_be_readable=False)
    return Keys(*(_decoded(name, held.get(name, ""), path.name) for name in _NAMES))


def new_key_file(path: Path) -> None:
    """Generate both secrets in a new file of mode 600; raise FileExistsError: a vault without its keys is lost."""
    make_folder(path.parent)
    new = {name: base64.b64encode(os.urandom(KEY_BYTES)).decode() for name in _NAMES}
    with fresh(unfinished(path), 0o600) as file:
        file.write(json.dumps(new, indent=1).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(unfinished(path), path)  # unlike a rename, never in the place of another file
    finally:
        unfinished(path).unlink()
    sync(path.parent)


def encrypt(cipher: AESGCM, plain: bytes, bound_to: bytes) -> bytes:
    """Encrypt, with a random nonce in front; decryption needs the same `bound_to`."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, plain, bound_to)


def decrypt(cipher: AESGCM, encrypted: bytes, bound_to: bytes) -> bytes:
    """Decrypt the output of `encrypt`; raise VaultError if key, `bound_to` or bytes differ."""
    try:
        return cipher.decrypt(encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:], bound_to)
    except InvalidTag:
        raise VaultError(
            "encrypted bytes cannot be decrypted: they were changed or moved, or belong to another key"
        ) from None


def _read_key_file(path: Path, *, may_be_readable: bool) -> dict[str, str]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = unmarked(path.read_bytes()).decode()
    except OSError as error:
        raise VaultError(f"[vault] key_file: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise VaultError(f"[vault] key_file: {path} is not a key file") from None
    if mode & 0o077 and not may_be_readable:
        raise VaultError(
            f"[vault] key_file: others can read {path}: chmod 600 it, then run `ordermart vault rotate --new-key-file "
            "FILE`; or set [security] allow_readable_secrets = true"
        )
    try:
        held = json.loads(text)
    except ValueError:
        raise VaultError(f"[vault] key_file: {path} is not a key file") from None
    if not isinstance(held, dict) or not all(isinstance(held.get(n, ""), str) for n in _NAMES):
        raise VaultError(f"[vault] key_file: {path} must be an object with {' and '.join(_NAMES)}")
    return {name: held[name] for name in _NAMES if name in held}


def _decoded(name: str, text: str, origin: str) -> bytes:
    variable = f"ORDERMART_VAULT__{name.upper()}"
    if not text:
        raise VaultError(f"[vault] {name} is missing: set {variable} or {variable}_FILE, or name a [vault] key_file")
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise VaultError(f"[vault] {name} from {origin} must be {KEY_BYTES} bytes in base64")
    return key


CHECK = b"ordermart vault"
SIGNED, TALLIED = b", with a signed ledger", b", with tallied rows"  # what nobody without the master key can take back
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
    row = db.execute("select value from meta where name = 'lookup_check'").fetchone()
    return is_master(db, AESGCM(keys.master)) and row is not None and row[0] == Lookup(keys.lookup).check


def is_master(db: sqlite3.Connection, master: AESGCM) -> bool:
    """Tell whether a vault has this master key."""
    row = db.execute("select value from meta where name = 'master_check'").fetchone()
    try:
        return row is not None and decrypt(master, row[0], CHECK).startswith(CHECK)
    except (VaultError, ValueError):
        return False


def stated(db: sqlite3.Connection, master: AESGCM) -> bytes:
    """Return what a vault states of itself, encrypted by the master key; nothing of a new one."""
    row = db.execute("select value from meta where name = 'master_check'").fetchone()
    return decrypt(master, row[0], CHECK) if row else CHECK


def state(db: sqlite3.Connection, master: AESGCM, more: bytes) -> None:
    """State more of a vault."""
    text = stated(db, master)
    check = encrypt(master, text if more in text else text + more, CHECK)
    db.execute("insert or replace into meta values ('master_check', ?)", (check,))


def bound_to(customer_key: str, kind: str, id_: int, no: int, load_id: str, seq: int) -> bytes:
    """Return the data that the encryption of a version is bound to: its document, number, load and place in that."""
    return f"{kind}/{id_}/{no}/{load_id}/{seq}/{customer_key}".encode()


def decrypt_version(cipher: AESGCM, customer_key: str, row: tuple[Any, ...], *, is_tallied: bool) -> bytes:
    """Return the content of a row of `ROW`; older versions bound it to document and customer alone."""
    kind, id_, no, _, load_id, seq, body = row
    try:
        return decrypt(cipher, body, bound_to(customer_key, kind, id_, no, load_id, seq))
    except VaultError:
        if is_tallied:
            raise
        return decrypt(cipher, body, f"{kind}/{id_}/{customer_key}".encode())


def require_key(db: sqlite3.Connection, master: AESGCM) -> None:
    """Raise VaultError if another process has rotated the keys since this one read them."""
    if not is_master(db, master):
        raise VaultError("the vault's keys were rotated meanwhile: set the new ones and start again")


class _Rotation:
    def __init__(self, db: VaultConnection, old: Keys, new: Keys, progress: Callable[[str, int, int], None]) -> None:
        self._db = db
        self._old, self._new = AESGCM(old.master), AESGCM(new.master)
        self._lookup = Lookup(new.lookup)
        self._progress = progress

    def run(self) -> tuple[int, int]:
        """Change everything that the secrets protect; return how many customers and versions there are."""
        customers = self._rewrap("customers", "n", "customer_key", lambda key: key.encode())
        self._rewrap("refused", "ref", "ref", lambda ref: f"refused/{ref}".encode())
        versions = self._rekey()
        self._db.execute("insert or replace into meta values ('lookup_check', ?)", (self._lookup.check,))
        query = "select name, value from meta where name like 'key/%' or name = 'master_check'"
        for name, wrapped in self._db.execute(query).fetchall():
            bound_to = CHECK if name == "master_check" else name.encode()
            self._db.execute("update meta set value = ? where name = ?", (self._again(wrapped, bound_to), name))
        return customers, versions

    def _again(self, wrapped: bytes, bound_to: bytes) -> bytes:
        return encrypt(self._new, decrypt(self._old, wrapped, bound_to), bound_to)

    def _rewrap(self, table: str, key: str, bound: str, bound_to: Callable[[str], bytes]) -> int:
        """Wrap the keys of a table's rows with the new master key; return how many."""
        rows = self._db.execute(f"select {key}, {bound}, wrapped from {table} where wrapped is not null").fetchall()
        query = f"update {table} set wrapped = ? where {key} = ?"
        self._db.executemany(query, ((self._again(wrapped, bound_to(text)), value) for value, text, wrapped in rows))
        return len(rows)

    def _rekey(self) -> int:
        """Compute digests from the decrypted content, forget all hashes; return how many versions there are."""
        (total,) = self._db.execute("select count(*) from personal_data").fetchone()
        for each in ("lookups", "pairs", "shared", f"meta where name = '{RULE}'"):  # all orders are filed again next
            self._db.execute(f"delete from {each}")
        last, done, is_tallied = ("", 0, 0), 0, TALLIED in stated(self._db, self._old)
        select = f"select customer_key, wrapped, {ROW} from personal_data join customers on customers.n = customer"
        query = f"{select} where (kind, id, no) > (?, ?, ?) order by kind, id, no limit ?"
        while rows := self._db.execute(query, (*last, _ROWS_AT_ONCE)).fetchall():
            digests = []
            for customer_key, wrapped, *row in rows:
                cipher = AESGCM(decrypt(self._new, wrapped, customer_key.encode()))
                content = decrypt_version(cipher, customer_key, tuple(row), is_tallied=is_tallied)
                digests.append((self._lookup.digest(content), *row[:3]))
            self._db.executemany("update personal_data set digest = ? where kind = ? and id = ? and no = ?", digests)
            last, done = rows[-1][2:5], done + len(rows)
            self._progress("computing digests", done, total)
        return int(total)


_LEDGER, _HEAD = "key/ledger", "ledger/head"


def ledger_key(settings: Settings) -> tuple[bytes, bool]:
    """Return the key that signs heads, b"" before the first, and if any was signed; raise VaultError without it."""
    master = AESGCM(read_keys(settings).master)
    with _reading(settings) as db:
        require_key(db, master)
        held = db.execute("select value from meta where name = ?", (_LEDGER,)).fetchone()
        return decrypt(master, held[0], _LEDGER.encode()) if held else b"", SIGNED in stated(db, master)


def keep_ledger_head(settings: Settings, signed: Callable[[bytes], LedgerHead]) -> LedgerHead:
    """Keep the head that `signed` makes with the key, made when first needed; raise VaultError without either."""
    master = AESGCM(read_keys(settings).master)
    with _reading(settings) as db, transaction(db):  # key and head at once: a key without a head has lost it
        require_key(db, master)
        made = encrypt(master, os.urandom(KEY_BYTES), _LEDGER.encode())
        db.execute("insert or ignore into meta values (?, ?)", (_LEDGER, made))
        (wrapped,) = db.execute("select value from meta where name = ?", (_LEDGER,)).fetchone()
        head = signed(decrypt(master, wrapped, _LEDGER.encode()))
        db.execute("insert or replace into meta values (?, ?)", (_HEAD, msgspec.json.encode(head)))
        state(db, master, SIGNED)
        return head


def kept_ledger_head(path: Path) -> tuple[bool, bytes | None]:
    """Return whether a vault has the key, and the head that it keeps; needs no keys."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=30)) as db:
        query = "select name, value from meta where name in (?, ?)"
        try:
            names = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
            if "meta" not in names and not ("customers" in names and db.execute("select 1 from customers").fetchone()):
                return False, None  # its first run was killed while the tables were made
            found = dict(db.execute(query, (_LEDGER, _HEAD)).fetchall())
        except UnicodeDecodeError:  # SQLite quotes a text of its tables that is damaged
            raise sqlite3.DatabaseError(MALFORMED) from None
    return _LEDGER in found, found.get(_HEAD)


@contextmanager
def _reading(settings: Settings) -> Iterator[VaultConnection]:
    path = settings.data_dir / "vault" / "vault.sqlite"
    if not path.exists():
        raise VaultError("there is no vault yet, which keeps the key that signs the ledger's head")
    try:
        with closing(opened(path)) as db:
            yield db
    except sqlite3.Error as error:
        raise VaultError(f"the vault cannot be read: {error}") from None


_UNREAD_DAYS = 30
ROW_BYTES = 300  # about the vault's need for a body besides its bytes


class Refused(NamedTuple):
    """A quarantined body, decrypted."""

    kind: str
    asked: int | None
    body: bytes


class QuarantinedBodies:
    """The quarantined bodies of a vault."""

    def __init__(self, db: VaultConnection, master: AESGCM, days: int) -> None:
        self._db, self._master, self._days = db, master, days

    def encrypt(
        self, kind: str, load_id: str, bodies: Iterable[tuple[int | None, bytes]], now: dt.datetime
    ) -> list[str]:
        """Encrypt bodies with the ids requested, of an erased document an empty one; return random references."""
        rows = []
        bodies = list(bodies)
        of = "orders" if kind == "webhooks" else kind
        claimed = [own_ids(received) | ({asked} if asked is not None else set()) for asked, received in bodies]
        erased = erased_ids(self._db, of, set().union(*claimed))
        for (asked, received), ids in zip(bodies, claimed, strict=True):
            body = received if erased.isdisjoint(ids) else b""
            ref, key = secrets.token_hex(16), os.urandom(KEY_BYTES)
            bound = f"refused/{ref}".encode()
            wrapped = encrypt(self._master, key, bound)
            encrypted = encrypt(AESGCM(key), body, bound + f"/{kind}/{asked}".encode())
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
        cipher = AESGCM(decrypt(self._master, wrapped, bound))
        try:
            return Refused(kind, asked, decrypt(cipher, body, bound + f"/{kind}/{asked}".encode()))
        except VaultError:  # older versions bound it to its reference alone
            return Refused(kind, asked, decrypt(cipher, body, bound))

    def readable(self, ref: str) -> bytes | None:
        """Return the bytes of a quarantined body; None if it is no longer kept, or damaged."""
        try:
            return self.body(ref)
        except VaultError:
            return None

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
        """Delete bodies older than `quarantine_retention_days`, or than 30 if nobody can read them; return how many."""
        gone = []
        for days in sorted({self._days, min(self._days, _UNREAD_DAYS)}):
            limit = (now - dt.timedelta(days=days)).astimezone(dt.UTC).isoformat()
            refs = [ref for (ref,) in self._db.execute("select ref from refused where refused_at < ?", (limit,))]
            gone += [ref for ref in refs if days == self._days or not is_readable(self.readable(ref) or b"")]
        self.forget(set(gone))
        return len(set(gone))


_LENGTH_BYTES = 4


class FetchedBody(msgspec.Struct, frozen=True, array_like=True):
    """The outcome of requesting an id: status and body, or an error code and message; and its cost."""

    id: int
    fetched_at: dt.datetime
    status: int | None
    body: bytes = b""
    code: str = ""
    message: str = ""
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


def open_spool(settings: Settings, kind: str) -> "Spool":
    """Open the spool of a kind; raise VaultError for missing or wrong keys."""
    return Spool(settings.data_dir / "vault" / f"spool-{kind}", AESGCM(read_keys(settings).master))


class Spool(AbstractContextManager["Spool"]):
    """The spool of one kind: `left` first, then `begin`, `add` …, `end` for each load."""

    def __init__(self, path: Path, master: AESGCM) -> None:
        self._path, self._master = path, master
        self._descriptor = -1
        self._cipher = master
        self._no = 0

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
        wrapped = encrypt(self._master, key, f"spool/{load_id}".encode())
        self._cipher, self._no = AESGCM(key), 0
        self._write(msgspec.msgpack.encode(_Head(load_id, wrapped)))
        for answer in answers:
            self.add(answer)
        draft.replace(self._path)

    def add(self, answer: FetchedBody) -> None:
        """Append a response."""
        # The key is used for this file only, so a counter is a safe nonce.
        nonce = self._no.to_bytes(NONCE_BYTES, "big")
        record = self._cipher.encrypt(nonce, msgspec.msgpack.encode(answer), str(self._no).encode())
        self._write(nonce + record)
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
