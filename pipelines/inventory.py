"""The inventory: one record of data that cannot be rebuilt, kept apart from it, so that a missing file is noticed.

It has the size and hash of each file, how far each SQLite store had come, with counts and digests of its rows, and the
ledger's length and last hash. Of its two copies either suffices. A small file is written under its temporary name,
noted, and renamed: after a kill in between, `settle` renames it.

Each record leaves a random mark in a SQLite store. A store with the last recorded mark continues it; an older one, or a
new one, lacks it. Triggers note which parts change after a mark: all others must be as they were recorded. Nothing but
a write of a few bytes is added to a commit.
"""

import datetime as dt
import fcntl
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from pipelines.durable import file_hash, fresh, make_folder, put_in_place, sync, unfinished, write_whole

_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # SQLite may quote the bytes that it cannot read


class TrackedStore(msgspec.Struct):
    """How far an SQLite store had come: its last mark, and the rows of each part as count and digest.

    Parts that are `damaged` are not recorded again until somebody accepts them. `schema` is SQLite's count of changes
    to tables and triggers, and a digest of their texts; `last` is the last number of rows that are appended.
    """

    no: int
    mark: str
    columns: str
    parts: dict[str, tuple[int, str]]
    damaged: list[str] = []
    schema: tuple[int, str] = (-1, "")
    last: int = 0


class Tracked(NamedTuple):
    """A table, the columns by which it falls into parts (the last by ranges; none: one part), and its key."""

    name: str
    by: tuple[str, ...]
    key: str


VAULT, WORK_LIST = "vault/vault.sqlite", "inbox/worklist.sqlite"
STORES = {
    VAULT: (
        Tracked("customers", ("n",), "n"),
        Tracked("erased", ("kind", "id"), "kind, id"),
        Tracked("lookups", ("customer",), "customer, hash"),
        Tracked("meta", (), "name"),
        Tracked("open_loads", (), "load_id"),
        Tracked("personal_data", ("kind", "id"), "kind, id, no"),
        Tracked("refused", (), "ref"),
    ),
    WORK_LIST: (
        Tracked("deliveries", ("seq",), "seq"),
        Tracked("entries", ("kind", "id"), "kind, id"),
        Tracked("reasons", (), "no"),
    ),
}
_EVENTS = (("insert", "new"), ("update", "new"), ("delete", "old"))
_APPENDED = "deliveries"  # a trigger for each row would cost the receiver more than to compare the last number
_BITS = 12  # ids of 4,096 rows make a part
_MARKS_KEPT = 200  # a backup that is under way compares its copy with the inventory of its beginning
_DIGEST_BYTES = 16
_LAST_MARK = "(select coalesce(max(no), 0) from inventory_marks)"
_OVER_EARLIER = "on conflict (part) do update set no = excluded.no where no < excluded.no"
_TABLES = (
    "create table if not exists inventory_marks (no integer primary key, mark text not null)",
    "create table if not exists inventory_changed (part text primary key, no integer not null) without rowid",
)


def track(db: sqlite3.Connection, store: str) -> None:
    """Have triggers note which parts of a store change, but for rows that are appended; the tables must be there."""
    query = "select count(*) from sqlite_master where type = 'trigger' and name like 'inventory_%'"
    if db.execute(query).fetchone()[0] == len(_EVENTS) * len(STORES[store]) - (store == WORK_LIST):
        return
    for statement in _TABLES:
        db.execute(statement)
    for table in STORES[store]:
        for event, row in _EVENTS[table.name == _APPENDED :]:
            db.execute(
                f"create trigger if not exists inventory_{table.name}_{event} after {event} on {table.name} begin "
                f"insert into inventory_changed values ({_part_of(table, row)}, {_LAST_MARK}) {_OVER_EARLIER}; end"
            )


def mark_store(path: Path, name: str, before: TrackedStore | None) -> TrackedStore | None:
    """Set a mark in a store, and return its record; `before` if nothing changed, or it is not the one recorded."""
    try:
        with closing(_opened(path)) as db:
            if not _is_tracked(db) or (before and _why_not(db, before)):
                return before
            columns = columns_of(db, name)
            known = before if before and before.columns == columns else None
            changed = changed_parts(db, name, known) if known else set()
            for table in () if known else STORES[name]:
                parts_of = db.execute(f"select distinct {_part_of(table, table.name)} from {table.name}")
                changed |= {part for (part,) in parts_of}
            if known and not changed:
                return before
            row = db.execute("select coalesce(max(no), 0) + 1 from inventory_marks").fetchone()
            no, mark = int(row[0]), secrets.token_hex(8)
            db.execute("begin immediate")
            db.execute("insert into inventory_marks values (?, ?)", (no, mark))
            db.execute("delete from inventory_marks where no < ?", (no - _MARKS_KEPT,))
            db.execute("delete from inventory_changed where no < ?", (no - _MARKS_KEPT,))
            db.execute("commit")
            db.execute("begin")  # one state for all parts; later commits change after this mark
            parts, damaged = (dict(known.parts), known.damaged) if known else ({}, [])
            for part in changed - set(damaged):
                parts[part] = digest(db, name, part)
                if not parts[part][0]:
                    del parts[part]
            return TrackedStore(no, mark, columns, parts, damaged, _schema(db), _last_of(db, name))
    except _UNREADABLE:
        return before  # a comparison names it


def _why_not(db: sqlite3.Connection, store: TrackedStore) -> str:
    query = "select 1 from inventory_marks where no = ? and mark = ?"
    if not _is_tracked(db) or db.execute(query, (store.no, store.mark)).fetchone() is None:
        return "an older version, or another file: it lacks what was last recorded of it"
    count, texts = _schema(db)
    is_other = count == store.schema[0] and texts != store.schema[1]
    return "its tables or triggers are damaged: they are not those that were recorded" if is_other else ""


def _schema(db: sqlite3.Connection) -> tuple[int, str]:
    texts = db.execute("select type, name, tbl_name, sql from sqlite_master order by name").fetchall()
    (count,) = db.execute("pragma schema_version").fetchone()
    return count, hashlib.blake2b(msgspec.msgpack.encode(texts), digest_size=_DIGEST_BYTES).hexdigest()


def _last_of(db: sqlite3.Connection, name: str) -> int:
    """Return the last number of the rows of a store that are appended, 0 if there are none."""
    query = f"select coalesce(max(seq), 0) from {_APPENDED}"
    return int(db.execute(query).fetchone()[0]) if name == WORK_LIST else 0


def changed_parts(db: sqlite3.Connection, name: str, store: TrackedStore) -> set[str]:
    """Return the parts that changed after the mark of a record."""
    found = {part for (part,) in db.execute("select part from inventory_changed where no >= ?", (store.no,))}
    by = {table.name: table.by for table in STORES[name]}
    for table, *values in (str(part).split("/") for part in found):
        is_no = all(each.removeprefix("-").isdecimal() for each in values[-1:])  # ids may be negative
        if table not in by or len(values) != len(by[table]) or not is_no:
            raise sqlite3.DatabaseError("the note of what changed names a part that there is not")
    if (last := _last_of(db, name)) > store.last:
        found |= {f"{_APPENDED}/{part}" for part in range((store.last + 1) >> _BITS, (last >> _BITS) + 1)}
    return found


def damaged_parts(path: Path, name: str, store: TrackedStore, parts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield those of these parts whose rows are not what was recorded, each with what differs."""
    with closing(_opened(path)) as db:
        db.execute("begin")
        changed = changed_parts(db, name, store) if columns_of(db, name) == store.columns else None
        for part in parts:
            if changed is None or part in changed:
                continue
            count, recorded = store.parts[part]
            try:
                now = digest(db, name, part)
            except _UNREADABLE as error:
                yield part, str(error)
                continue
            if now[0] != count:
                yield part, f"{now[0]:,} rows instead of {count:,}"
            elif now[1] != recorded:
                yield part, "other rows than were recorded"


def why_not_continued(path: Path, store: TrackedStore) -> str:
    """Return why a store does not continue its record; "" where it does."""
    try:
        with closing(_opened(path)) as db:
            return _why_not(db, store)
    except _UNREADABLE as error:
        return str(error)


def structure(path: Path) -> str:
    """Return what SQLite finds wrong in a file when it reads all of it; "" for nothing."""
    try:
        with closing(_opened(path)) as db:
            (found,) = db.execute("pragma integrity_check(1)").fetchone()
    except _UNREADABLE as error:
        return str(error)
    return "" if found == "ok" else " ".join(str(found).split())


def digest(db: sqlite3.Connection, store: str, part: str) -> tuple[int, str]:
    """Return the number of rows of a part, and a digest of them."""
    name, *values = part.split("/")
    table = next(each for each in STORES[store] if each.name == name)
    condition, arguments = "true", []
    if table.by:
        *kinds, column = table.by
        first = int(values[-1]) << _BITS
        condition = " and ".join([*(f"{kind} = ?" for kind in kinds), f"{column} between ? and ?"])
        arguments = [*values[:-1], first, first + (1 << _BITS) - 1]
    found, count = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0
    for row in db.execute(f"select * from {name} where {condition} order by {table.key}", arguments):
        found.update(msgspec.msgpack.encode(row))
        count += 1
    return count, found.hexdigest()


def columns_of(db: sqlite3.Connection, store: str) -> str:
    """Return the columns of the tables of a store: after an upgrade that changed them, rows are recorded again."""
    query = "select name from pragma_table_info(?)"
    columns = ((of.name, column) for of in STORES[store] for (column,) in db.execute(query, (of.name,)))
    return " ".join(f"{table}.{column}" for table, column in columns)


def _part_of(table: Tracked, row: str) -> str:
    if not table.by:
        return f"'{table.name}'"
    *kinds, column = table.by  # the constant is one text: a concatenation is made for each row
    values = [*(f"{row}.{kind}" for kind in kinds), f"({row}.{column} >> {_BITS})"]
    return f"'{table.name}/' || " + " || '/' || ".join(values)


def _is_tracked(db: sqlite3.Connection) -> bool:
    return db.execute("select 1 from sqlite_master where name = 'inventory_marks'").fetchone() is not None


def _opened(path: Path) -> sqlite3.Connection:
    """Open a store that is there; nothing is created."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=30, isolation_level=None)


INVENTORY, COPY = "inventory.json", "inventory-copy.json"
FORMAT = "inventory"  # its name in format.json
# Files that are read as a whole and cannot be rebuilt; the ledger's lines and the SQLite stores are noted otherwise.
PATTERNS = (
    "format.json raw/source.json raw/erasures.json raw/merged-*.json raw/service/*.json raw/documents/*/*.parquet "
    "raw/observations/*/*.parquet ledger/*.parquet notify/*.json warehouse/verifications.jsonl"
).split()
_HASH = 64


class InventoryError(Exception):
    """The inventory cannot be read; the message says where it can be taken from."""


class LedgerHead(msgspec.Struct, frozen=True):
    """The ledger's length and last hash; `signature` is of both by the vault's key, in base64, "" without the key."""

    entries: int
    sha256: str
    signature: str = ""
    key: str = ""


class Inventory(msgspec.Struct):
    """What must be there. `read_until` is where the last night stopped reading; a round reads everything once."""

    no: int = 0
    files: dict[str, tuple[int, str]] = {}
    stores: dict[str, TrackedStore] = {}
    ledger: LedgerHead | None = None
    read_until: str = ""
    round_began_at: dt.datetime | None = None
    round_ended_at: dt.datetime | None = None


def read_inventory(data_dir: Path) -> Inventory:
    """Return the newer of both copies, an empty inventory for a new folder; raise InventoryError if it is lost."""
    if found := [each for name in (INVENTORY, COPY) if (each := read_copy(data_dir / name))]:
        return max(found, key=lambda each: each.no)
    if is_expected(data_dir):
        why = f"{data_dir / INVENTORY} and its copy are missing or damaged: copy {INVENTORY} from the last backup"
        raise InventoryError(f'{why}; without one, `ordermart inventory --accept "REASON"` records what is there now')
    return Inventory()


def read_copy(path: Path) -> Inventory | None:
    """Return the inventory of one file; None if it is missing or damaged."""
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[_HASH:]).hexdigest().encode() == content[:_HASH]:
            return msgspec.json.decode(content[_HASH:], type=Inventory)
    except PermissionError:
        raise  # it may be as it was written
    except (OSError, msgspec.DecodeError):
        pass
    return None


def is_expected(data_dir: Path) -> bool:
    """Tell whether there ever was an inventory."""
    try:
        return FORMAT in (data_dir / "format.json").read_text("utf-8", "replace")
    except OSError:
        return any((data_dir / name).exists() for name in (INVENTORY, COPY))


@contextmanager
def changing(data_dir: Path) -> Iterator[Inventory]:
    """Give the inventory to a block that may change it, while others wait, and write what it changed."""
    with _locked(data_dir):
        found = read_inventory(data_dir)
        before = msgspec.json.encode(found)
        yield found
        if msgspec.json.encode(found) != before:
            write_inventory(data_dir, found)


def write_inventory(data_dir: Path, inventory: Inventory) -> None:
    """Write both copies, as the next version."""
    inventory.no += 1
    for name in (INVENTORY, COPY):
        write_copy(data_dir / name, inventory)


def write_copy(path: Path, inventory: Inventory) -> None:
    """Write an inventory into a file, its own hash in front."""
    content = msgspec.json.encode(inventory)
    write_whole(path, hashlib.sha256(content).hexdigest().encode() + content)


def write_noted(data_dir: Path, path: Path, content: bytes) -> None:
    """Write a small file of a data folder, durably, whole or not at all, and note it."""
    make_folder(path.parent, 0o700)
    with _locked(data_dir):
        inventory = read_inventory(data_dir)
        try:
            with fresh(unfinished(path)) as file:
                file.write(content)
            sync(unfinished(path))
            sync(path.parent)
            inventory.files[_name(data_dir, path)] = len(content), hashlib.sha256(content).hexdigest()
            write_inventory(data_dir, inventory)
        except BaseException:
            unfinished(path).unlink(missing_ok=True)
            raise
        put_in_place(path)


def note_files(data_dir: Path, paths: Iterable[Path]) -> None:
    """Note files that count from now on, by what they are now."""
    with changing(data_dir) as inventory:
        inventory.files |= {_name(data_dir, path): size_and_sha256(path) for path in paths}


def forget_files(data_dir: Path, paths: Iterable[Path]) -> None:
    """Forget files that are about to be removed."""
    names = {_name(data_dir, path) for path in paths}
    with changing(data_dir) as inventory:
        for name in names & inventory.files.keys():
            del inventory.files[name]


def adopt_files(data_dir: Path) -> None:
    """Note every file that nobody noted, by what it is now."""
    with changing(data_dir) as inventory:
        for path in (each for pattern in PATTERNS for each in sorted(data_dir.glob(pattern))):
            if (name := _name(data_dir, path)) not in inventory.files:
                inventory.files[name] = size_and_sha256(path)


def accept_files(data_dir: Path) -> None:
    """Note every file again, by what it is now, and forget how far the stores had come; the ledger's head stays."""
    with _locked(data_dir):
        try:
            before = read_inventory(data_dir)
        except InventoryError:
            before = Inventory()
        paths = (each for pattern in PATTERNS for each in sorted(data_dir.glob(pattern)))
        files = {_name(data_dir, path): size_and_sha256(path) for path in paths}
        write_inventory(data_dir, Inventory(before.no, files, ledger=before.ledger))


def settle(data_dir: Path) -> None:
    """Finish what a kill left between the note of a small file and its rename."""
    for name, noted in read_inventory(data_dir).files.items():
        path = data_dir / name
        if is_unsettled(path, noted):
            put_in_place(path)


def is_unsettled(path: Path, noted: tuple[int, str]) -> bool:
    """Tell whether the noted content of a file still has its temporary name."""
    draft = unfinished(path)
    return os.access(draft, os.R_OK, effective_ids=True) and size_and_sha256(draft) == noted


def fault(path: Path, noted: tuple[int, str], *, reads: bool = False) -> str:
    """Return how a file, its content too if small or `reads`, differs from its note; "" if not, or not yet renamed."""
    if is_unsettled(path, noted):
        return ""
    try:
        size = path.stat().st_size
        if size != noted[0]:
            return f"{size:,} bytes instead of {noted[0]:,}"
        is_other = (reads or is_small(path.name)) and size_and_sha256(path) != noted
        return "other content than was written" if is_other else ""
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def is_small(name: str) -> bool:
    """Tell by its name whether a file is read whenever it is compared."""
    return name.endswith((".json", ".jsonl"))


def is_noted(data_dir: Path, name: str, content: bytes) -> bool:
    """Tell whether a file was noted with this content."""
    return read_inventory(data_dir).files.get(name) == (len(content), hashlib.sha256(content).hexdigest())


def size_and_sha256(path: Path) -> tuple[int, str]:
    """Return size and SHA-256 of a file."""
    return path.stat().st_size, file_hash(path)


def _name(data_dir: Path, path: Path) -> str:
    return str(path.relative_to(data_dir))


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    make_folder(data_dir)
    descriptor = os.open(data_dir / "inventory.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def record_stores(data_dir: Path) -> None:
    """Record how far both stores have come; one that does not continue its record stays as it was recorded."""
    if names := [name for name in STORES if (data_dir / name).exists()]:
        with changing(data_dir) as inventory:
            for name in names:
                if found := mark_store(data_dir / name, name, inventory.stores.get(name)):
                    inventory.stores[name] = found


def accept(data_dir: Path) -> None:
    """Record everything as it is now, whatever was recorded: losses are given up."""
    accept_files(data_dir)
    record_stores(data_dir)
