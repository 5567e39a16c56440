"""The SQLite file of the inbox: its tables, how it is opened and migrated, how a change is committed, and its entries.

A committed change is on the disk: WAL with synchronous=FULL. A delivery and its entry are committed together, in groups
of deliveries, each before it is acknowledged: those received while a group is synced form the next group.

Signature, in constant time, and age of a delivery are verified, then its topic, id and delivery id decoded. Nothing
else is taken from a body: its content is never trusted, the document is fetched. With a signature configured the id
comes from the body alone, which is what was signed. No bodies are kept here: an undecodable one is in the vault under
its reference, and is decoded again after settings were corrected.
"""

import base64
import binascii
import fcntl
import functools
import hashlib
import hmac
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec
from standardwebhooks import Webhook, WebhookVerificationError

from pipelines.clock import utc_now
from pipelines.durable import make_folder
from pipelines.inventory import track
from pipelines.literals import unmarked
from pipelines.partner.pointer import UNREADABLE, is_json, parse, raw_at
from pipelines.resources import resource
from pipelines.settings import SettingsError, WebhookSettings
from pipelines.settings.kinds import ENTITIES, KINDS, Kind

Encrypt = Callable[[Sequence[bytes]], tuple[Sequence[str], Sequence[str]]]
Settled = Callable[[Sequence[tuple[object, bool]]], None]
Verify = Callable[[Mapping[bytes, bytes], bytes, float], bool]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BUSY_SECONDS = 30.0
_LAYOUT, _FIRST_LAYOUT = 7, 3  # 3 had no rejections, 4 no marks, 5 did not say since when ids fail, 6 had plans
# column of entries that an older layout lacks, its type, and what follows
_ADDED = (
    ("rejections", "integer not null default 0", ""),
    # What failed once waited for a person.
    (
        "failing_since",
        "integer",
        """
        update entries set state = 'waiting', due_at = finished_at, failing_since = finished_at
        where state = 'dead' and rejections = 0
        """,
    ),
)


class Inbox(sqlite3.Connection):
    """A connection to the inbox whose writers take turns.

    SQLite does not queue writers: a run that records thousands of results could keep the receiver waiting for seconds.
    So a writer takes two file locks and keeps the first until it has the second: the next in the queue cannot be
    overtaken by the writer that has just finished. A killed writer loses its locks.
    """

    queue_lock: BinaryIO
    write_lock: BinaryIO

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, then keep other writers out while the block runs."""
        fcntl.flock(self.queue_lock, fcntl.LOCK_EX)
        try:
            fcntl.flock(self.write_lock, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self.queue_lock, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self.write_lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file and its locks."""
        super().close()
        with suppress(AttributeError):  # the file itself could not be opened
            self.queue_lock.close()
            self.write_lock.close()


def inbox_path(data_dir: Path) -> Path:
    """Return the inbox file below the data folder."""
    return data_dir / "inbox" / "worklist.sqlite"


def connect(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Inbox:
    """Open the inbox at `path`, creating or migrating it; usable from several processes and threads.

    Raise sqlite3.Error if the file is not an inbox, has a newer layout or one of before 0.1.0, or the disk is full.
    """
    make_folder(path.parent)
    db = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=Inbox)
    try:
        db.queue_lock = path.with_name(path.name + "-queue").open("ab")
        db.write_lock = path.with_name(path.name + "-write").open("ab")
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        layout = db.execute("pragma user_version").fetchone()[0]
        if layout > _LAYOUT or 0 < layout < _FIRST_LAYOUT:
            reads = f"{_FIRST_LAYOUT} to {_LAYOUT}"
            raise sqlite3.DatabaseError(f"{path.name} has layout {layout}, this version reads {reads}")
        if layout < _LAYOUT:
            with transaction(db):
                _migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def _migrate(connection: Inbox) -> None:
    """Add the columns that an older layout lacks, create the tables that are missing; harmless when repeated."""
    columns = {row[1] for row in connection.execute("pragma table_info(entries)")}
    for new, kind, then in _ADDED:
        if columns and new not in columns:
            connection.execute(f"alter table entries add column {new} {kind}")
            connection.execute(then)
    for statement in (resource("sql") / "inbox" / "tables.sql").read_text(encoding="utf-8").split(";"):
        connection.execute(statement)
    track(connection, "inbox/worklist.sqlite")
    connection.execute(f"pragma user_version = {_LAYOUT}")


@contextmanager
def transaction(connection: Inbox) -> Iterator[Inbox]:
    """Run one short write transaction: committed and synced, or rolled back."""
    with connection.turn():
        connection.execute("begin immediate")
        try:
            yield connection
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


def micros(at: datetime) -> int:
    """Return an instant as whole microseconds since 1970, UTC; raise ValueError for a time without offset."""
    if at.tzinfo is None:
        raise ValueError("a time without offset is not an instant")
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(value: int | None) -> datetime | None:
    """Return the instant that `micros` stored."""
    return None if value is None else EPOCH + timedelta(microseconds=value)


State = Literal["waiting", "started", "done", "dead", "given_up"]

INT64 = range(-(2**63), 2**63)
IDS = range(2**63)  # of documents
_MOST_REASONS = 62
INTERVAL = 60 * 1_000_000  # microseconds from the last request of an id until a webhook makes it due again
BAD_TOGETHER = "failed with most others: "  # how a reason begins when most ids of the load failed, too

FROM_JSON = "select distinct value from json_each(:ids)"
FROM_RANGE = """
with recursive counted(value) as (
    select :first union all select value + 1 from counted where value < :last
) select value from counted
"""


@functools.cache
def upsert(ids: str) -> str:
    """Return the statement that adds the ids of a select, or the reason to those that are there."""
    return (resource("sql") / "inbox" / "upsert.sql").read_text(encoding="utf-8").format(ids=ids)


@dataclass(frozen=True, slots=True)
class WorkListEntry:
    """One id of the work list: why it is to be fetched, when it is due, and what was attempted."""

    kind: str
    id: int
    state: State
    why: frozenset[str]
    added_at: datetime
    due_at: datetime | None
    last_attempt_at: datetime | None
    finished_at: datetime | None
    attempts: int
    misses: int
    reason: str | None
    rejections: int


def reason_bit(connection: sqlite3.Connection, why: str) -> int:
    """Return the bit of a reason, adding a new one; call it inside a transaction."""
    query = "insert into reasons (no, name) select (select count(*) from reasons), :why"
    connection.execute(f"{query} where not exists (select 1 from reasons where name = :why)", {"why": why})
    no: int = connection.execute("select no from reasons where name = ?", (why,)).fetchone()[0]
    if no > _MOST_REASONS:
        raise ValueError(f"more than {_MOST_REASONS} reasons: a reason is a category, not free text")
    return 1 << no


def add_notified(db: sqlite3.Connection, ids_of: Mapping[str, Collection[int]], why: int, interval: int) -> None:
    """Make ids due that webhooks named, `interval` µs after a request at the earliest, for `why`, in a transaction."""
    now = micros(utc_now())
    values = {"why": why, "now": now, "due": now, "since": None, "interval": interval}
    for kind, ids in ids_of.items():
        if ids:
            given = msgspec.json.encode(sorted(ids)).decode()
            db.execute(upsert(FROM_JSON), {**values, "kind": kind, "ids": given})


_GROUP = 500  # deliveries per transaction
_LOCKED_SECONDS = 3.0  # while another process writes; after that the sender should retry
_GATHER_SECONDS = 0.002  # after the first of a group: fewer, larger groups at little delay

# One statement per group: a statement per delivery would release and take Python's GIL each time.
_INSERT = """
insert into deliveries (received_at, topic, kind, id, delivery_id, bytes, undecodable, vault_ref)
select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
from json_each(?) order by key
"""
_NOT_KEPT = """
update deliveries set vault_ref = null
where undecodable is not null and vault_ref in (select value from json_each(?))
"""


class WebhookDelivery(NamedTuple):
    """One delivery that waits to be committed; `body` is set only if it is undecodable and kept."""

    ticket: object
    received_at: int
    notification: "Notification"
    size: int
    body: bytes | None


class Committer:
    """The thread that commits. `encrypt` gets undecodable bodies, `failed` the reason why a group was not committed."""

    def __init__(
        self, path: Path, *, encrypt: Encrypt | None = None, failed: Callable[[str], None] | None = None
    ) -> None:
        self._path, self._encrypt = path, encrypt
        self._settled: Settled = lambda _: None
        self._failed = failed or (lambda _: None)
        self._waiting: SimpleQueue[WebhookDelivery | None] = SimpleQueue()
        self._connection: Inbox | None = None
        self._inode = 0
        self._thread = threading.Thread(target=self._run, name="committer")

    def start(self, settled: Settled) -> None:
        """Open the file, or raise sqlite3.Error or OSError, and start; a thread calls `settled` once per group."""
        self._settled = settled
        self._open()
        self._thread.start()

    def put(self, delivery: WebhookDelivery) -> None:
        """Queue a delivery; `settled` gets its result."""
        self._waiting.put(delivery)

    def stop(self) -> None:
        """Commit the queue, then close the file."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            group: list[WebhookDelivery] = []
            next_one = self._waiting.get()
            time.sleep(_GATHER_SECONDS)
            while next_one is not None:
                group.append(next_one)
                if len(group) == _GROUP:
                    break
                try:
                    next_one = self._waiting.get_nowait()
                except Empty:
                    break
            going = next_one is not None
            if group:
                committed = self._commit(group)
                self._settled([(delivery.ticket, committed) for delivery in group])
        self._close()

    def _commit(self, group: list[WebhookDelivery]) -> bool:
        """Commit a group; return False, with nothing stored, if the disk, the lock or the vault fails."""
        try:
            refs, removed = self._encrypted(group)
            self._write(self._open(), group, refs, removed)
        except Exception as error:  # noqa: BLE001 -- nothing is acknowledged, and the next group is attempted
            self._close()
            detail = f": {error}" if isinstance(error, sqlite3.Error | OSError) else ""
            self._failed(f"{type(error).__name__}{detail}")
            return False
        return True

    def _encrypted(self, group: list[WebhookDelivery]) -> tuple[dict[int, str], Sequence[str]]:
        """Return the references by delivery, and those of bodies that are no longer kept."""
        undecodable = [n for n, delivery in enumerate(group) if delivery.body is not None]
        if self._encrypt is None or not undecodable:
            return {}, ()
        refs, removed = self._encrypt([group[n].body or b"" for n in undecodable])
        return dict(zip(undecodable, refs, strict=True)), removed

    def _write(self, db: Inbox, group: list[WebhookDelivery], refs: dict[int, str], removed: Sequence[str]) -> None:
        rows = [
            (at, named.topic, named.kind, named.id, named.delivery_id, size, named.undecodable, refs.get(n))
            for n, (_, at, named, size, _) in enumerate(group)
        ]
        ids_of: dict[str, set[int]] = {kind: set() for kind in KINDS}
        for _, _, named, _, _ in group:
            if named.kind is not None and named.id is not None:
                ids_of[named.kind].add(named.id)
        with transaction(db):
            db.execute(_INSERT, (msgspec.json.encode(rows).decode(),))
            if removed:
                db.execute(_NOT_KEPT, (msgspec.json.encode(removed).decode(),))
            add_notified(db, ids_of, self._why, INTERVAL)

    def _open(self) -> Inbox:
        """Return the connection; open a new one after an error, or if the file was removed."""
        if self._connection is not None:
            with suppress(FileNotFoundError):
                if self._path.stat().st_ino == self._inode:
                    return self._connection
        self._close()
        self._connection = connect(self._path, busy_seconds=_LOCKED_SECONDS)
        self._inode = self._path.stat().st_ino
        with transaction(self._connection):
            self._why = reason_bit(self._connection, "webhook")
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# The topics of interface section 6.
TOPICS: dict[str, Kind] = {**{f"{kind}.update": kind for kind in KINDS}, "orders.create": "orders"}
# Texts that the inbox may store: anything else could be personal data, such as a name or a telephone number.
_TOPIC = re.compile(r"[a-z_]{1,40}([.:/-][a-z_]{1,40}){1,3}", re.ASCII)
_DELIVERY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_HEADER = "header:"


@dataclass(frozen=True, slots=True)
class Notification:
    """The content of a delivery. `undecodable` is None, or why it names no id; then there is nothing to fetch."""

    topic: str | None
    kind: Kind | None
    id: int | None
    delivery_id: str | None
    undecodable: str | None


class Decoder:
    """Decodes deliveries as [webhooks] describes them; create one and reuse it."""

    def __init__(self, settings: WebhookSettings) -> None:
        is_signed = settings.signature != "none"  # then anybody may have written the headers
        own_topic = is_signed and not settings.allow_unsigned_topic
        self._topic = [_location(text) for text in settings.topic_locations if not (own_topic and _is_header(text))]
        self._delivery = [_location(text) for text in settings.delivery_id_locations]
        ids = [text for text in settings.id_locations if not (is_signed and _is_header(text))]
        self._ids = {kind: [_location(text.replace("{kind}", ENTITIES[kind])) for text in ids] for kind in KINDS}

    def decode(self, headers: Mapping[bytes, bytes], body: bytes) -> Notification:
        """Return the content of a delivery; names in `headers` are in lower case. Raise nothing, whatever the bytes."""
        body = unmarked(body)
        topic, kind = self._find_topic(headers, body)
        delivery_id = self._find_delivery(headers, body)
        out_of_range = False
        if kind is not None:
            for location in self._ids[kind]:
                id_ = _as_id(_value_at(location, headers, body))
                if id_ is not None and id_ in IDS:
                    return Notification(topic, kind, id_, delivery_id, None)
                out_of_range |= id_ is not None
            reason = "no id found" if is_json(body) else "no id found: the body is not JSON"
            reason = "id_out_of_range" if out_of_range else reason
        elif topic is not None:
            reason = "unknown topic"
        else:
            reason = "no topic found" if is_json(body) else "no topic found: the body is not JSON"
        return Notification(topic, kind, None, delivery_id, reason)

    def _find_topic(self, headers: Mapping[bytes, bytes], body: bytes) -> tuple[str | None, Kind | None]:
        unknown = None
        for location in self._topic:
            found = _value_at(location, headers, body)
            if isinstance(found, str):
                if found in TOPICS:
                    return found, TOPICS[found]
                if unknown is None and _TOPIC.fullmatch(found):
                    unknown = found
        return unknown, None

    def _find_delivery(self, headers: Mapping[bytes, bytes], body: bytes) -> str | None:
        for location in self._delivery:
            found = _value_at(location, headers, body)
            if type(found) is int and found in INT64:
                return str(found)
            if isinstance(found, str) and _DELIVERY_ID.fullmatch(found):
                return found
        return None


def _location(text: str) -> bytes | tuple[str, ...]:
    """Return the name of a header in lower-case bytes, or the tokens of a JSON pointer."""
    return text.removeprefix(_HEADER).lower().encode("ascii") if _is_header(text) else parse(text)


def _is_header(text: str) -> bool:
    return text.startswith(_HEADER)


def _value_at(location: bytes | tuple[str, ...], headers: Mapping[bytes, bytes], body: bytes) -> Any:
    if isinstance(location, bytes):
        found = headers.get(location)
        return None if found is None else found.decode("latin-1").strip()
    found = raw_at(body, location)
    if found is None or bytes(memoryview(found)[:1]) in (b"{", b"["):
        return None
    with suppress(*UNREADABLE):
        return msgspec.json.decode(found)
    return None


def _as_id(found: Any) -> int | None:
    """Return an id given as an integer or as its canonical text, else None."""
    if type(found) is str and _INTEGER.fullmatch(found):
        found = int(found)
    return found if type(found) is int and found in INT64 else None


_SECONDS = re.compile(rb"[0-9]{1,12}")
_SHORTEST = 16  # bytes of a secret; shorter ones can be guessed from one signed delivery
_VARIABLE = "ORDERMART_WEBHOOKS__SECRET"


def verifier(settings: WebhookSettings) -> Verify:
    """Return the function that verifies a delivery by its headers (names in lower case), body and time of receipt.

    Raise SettingsError if a signature is configured and its secret is missing or unusable.
    """
    if settings.signature == "none":
        return lambda _headers, _body, _now: True
    if not settings.secret:
        raise SettingsError(f'[webhooks] signature = "{settings.signature}" needs a secret: set {_VARIABLE}')
    return _standard(settings) if settings.signature == "standard_webhooks" else _hmac_sha256(settings)


def _standard(settings: WebhookSettings) -> Verify:
    try:
        webhook = Webhook(settings.secret.reveal())
        key = base64.b64decode(settings.secret.reveal().removeprefix("whsec_"))
    except Exception:  # noqa: BLE001 -- the library's errors may quote the secret
        raise SettingsError(f"{_VARIABLE}: not a Standard Webhooks secret; use whsec_ followed by base64") from None
    _check_length(key)
    tolerance = settings.tolerance_seconds

    def verify(headers: Mapping[bytes, bytes], body: bytes, now: float) -> bool:
        sent = headers.get(b"webhook-timestamp", b"")
        if not _SECONDS.fullmatch(sent) or abs(now - int(sent)) > tolerance:
            return False
        named = ("webhook-id", "webhook-timestamp", "webhook-signature")
        try:
            given = {name: headers[name.encode()].decode("ascii") for name in named}
            webhook.verify(body, given, json_parse=False)
        except (KeyError, ValueError, WebhookVerificationError):
            return False
        return True

    return verify


def _hmac_sha256(settings: WebhookSettings) -> Verify:
    key = settings.secret.reveal().encode()
    _check_length(key)
    header, clock = settings.signature_header.lower().encode(), settings.timestamp_header.lower().encode()
    prefix = settings.signature_prefix.encode()
    before, after = (part.encode() for part in settings.signing_template.split("{body}"))
    strict_base64 = partial(base64.b64decode, validate=True)
    decode: Callable[[bytes], bytes] = binascii.unhexlify if settings.signature_encoding == "hex" else strict_base64

    def verify(headers: Mapping[bytes, bytes], body: bytes, now: float) -> bool:
        given = headers.get(header, b"").strip()
        sent = headers.get(clock, b"") if clock else b""
        is_recent = not clock or (bool(_SECONDS.fullmatch(sent)) and abs(now - int(sent)) <= settings.tolerance_seconds)
        signed = before.replace(b"{timestamp}", sent), body, after.replace(b"{timestamp}", sent)
        expected = hmac.new(key, b"".join(signed), hashlib.sha256).digest()
        try:
            signature = decode(given.removeprefix(prefix))
        except ValueError:
            signature = b""
        # one way through: the time taken does not tell what was wrong
        return hmac.compare_digest(expected, signature) & given.startswith(prefix) & is_recent

    return verify


def _check_length(key: bytes) -> None:
    if len(key) < _SHORTEST:
        raise SettingsError(f"{_VARIABLE}: must have at least {_SHORTEST} bytes, so that nobody can guess it")


_PAGE = 50_000


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """One delivery. `undecodable` is why it names no id, `vault_ref` the reference of its body in the vault."""

    seq: int
    received_at: datetime
    topic: str | None
    kind: str | None
    id: int | None
    delivery_id: str | None
    size: int
    undecodable: str | None
    vault_ref: str | None


def undecodable(path: Path) -> list[StoredDelivery]:
    """Return the undecodable deliveries, oldest first."""
    query = "select seq, received_at, topic, kind, id, delivery_id, bytes, undecodable, vault_ref"
    query += " from deliveries where undecodable is not null order by seq"
    with closing(connect(path)) as connection:
        rows = connection.execute(query).fetchall()
    return [StoredDelivery(seq, EPOCH + timedelta(microseconds=at), *rest) for seq, at, *rest in rows]


def naming_deliveries(path: Path) -> Iterator[list[tuple[int, int, str | None, str, int]]]:
    """Yield number, time in microseconds, topic, kind and id of the deliveries that name an id, a page at a time."""
    after = 0
    query = "select seq, received_at, topic, kind, id from deliveries"
    query += f" where seq > ? and id is not null order by seq limit {_PAGE}"
    with closing(connect(path)) as connection:
        while rows := connection.execute(query, (after,)).fetchall():
            yield rows
            after = rows[-1][0]


def span(path: Path) -> tuple[int, int]:
    """Return the numbers of the first and the last retained delivery, 0 and 0 if there is none."""
    with closing(connect(path)) as connection:
        row = connection.execute("select coalesce(min(seq), 0), coalesce(max(seq), 0) from deliveries").fetchone()
        return int(row[0]), int(row[1])


def prune_deliveries(path: Path, before: datetime) -> int:
    """Delete deliveries received before then and return how many; the work list keeps the ids they named."""
    with closing(connect(path)) as connection, transaction(connection):
        return connection.execute("delete from deliveries where received_at < ?", (micros(before),)).rowcount


_END = b"\r\n"


def serialized(headers: Mapping[bytes, bytes], body: bytes) -> bytes:
    """Return a delivery as it is encrypted: header lines, an empty line, the body."""
    lines = [name + b": " + value + _END for name, value in headers.items()]
    return b"".join(lines) + _END + body


def deserialized(content: bytes) -> tuple[dict[bytes, bytes], bytes]:
    """Return the headers and the body that `serialized` packed."""
    if content.startswith(_END):
        return {}, content[len(_END) :]
    head, _, body = content.partition(_END + _END)
    return dict(line.split(b": ", 1) for line in head.split(_END)), body


def reprocess_deliveries(
    settings: WebhookSettings, path: Path, decrypt: Callable[[str], bytes | None]
) -> tuple[int, int]:
    """Decode undecodable deliveries again; return how many name an id now, and not. `decrypt` gives a body or None."""
    decoder = Decoder(settings)
    decoded = undecoded = 0
    for delivery in undecodable(path):
        content = decrypt(delivery.vault_ref) if delivery.vault_ref else None
        named = None if content is None else decoder.decode(*deserialized(content))
        if named is None or named.kind is None or named.id is None:
            undecoded += 1
            continue
        decoded += 1
        with closing(connect(path)) as connection, transaction(connection):
            connection.execute(
                "update deliveries set topic = ?, kind = ?, id = ?, delivery_id = ?, undecodable = null where seq = ?",
                (named.topic, named.kind, named.id, named.delivery_id, delivery.seq),
            )
            add_notified(connection, {named.kind: [named.id]}, reason_bit(connection, "webhook"), 0)
    return decoded, undecoded
