"""How far an SQLite store had come: marks that only this store has, and digests of the parts that changed since.

Each record leaves a random mark in the store. A store with the last recorded mark continues it; an older one, or a new
one, lacks it. Triggers note which parts change after a mark: all others must be as they were recorded. Nothing but a
write of a few bytes is added to a commit.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipelines.inventory.record import Store, accept_files, changing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.inventory.record import Inventory


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
        Tracked("plans", ("no",), "no"),
        Tracked("reasons", (), "no"),
    ),
}
_EVENTS = (("insert", "new"), ("update", "new"), ("delete", "old"))
_BITS = 12  # ids of 4,096 rows make a part
_MARKS_KEPT = 200  # a backup that is under way compares its copy with the inventory of its beginning
_DIGEST_BYTES = 16
_TABLES = (
    "create table if not exists inventory_marks (no integer primary key, mark text not null)",
    "create table if not exists inventory_changed (part text primary key, no integer not null) without rowid",
)


def track(db: sqlite3.Connection, store: str) -> None:
    """Have triggers note which parts of a store change; the tables must be there."""
    query = "select count(*) from sqlite_master where type = 'trigger' and name like 'inventory_%'"
    if db.execute(query).fetchone()[0] == len(_EVENTS) * len(STORES[store]):
        return
    for statement in _TABLES:
        db.execute(statement)
    for table in STORES[store]:
        for event, row in _EVENTS:
            db.execute(
                f"create trigger if not exists inventory_{table.name}_{event} after {event} on {table.name} begin "
                f"insert into inventory_changed values ({_part_of(table, row)}, "
                "(select coalesce(max(no), 0) from inventory_marks)) "
                "on conflict (part) do update set no = excluded.no where no < excluded.no; end"
            )


def record_stores(data_dir: Path) -> None:
    """Record how far both stores have come; one that does not continue its record stays as it was recorded."""
    for name in STORES:
        if (data_dir / name).exists():
            with changing(data_dir) as inventory:
                record_store(data_dir / name, name, inventory)


def record_store(path: Path, name: str, inventory: Inventory) -> None:
    """Record a store in an inventory; nothing if nothing changed, or it is not the one that was recorded."""
    try:
        with closing(_opened(path)) as db:
            before = inventory.stores.get(name)
            if not _is_tracked(db) or (before and not continues(db, before)):
                return
            columns = columns_of(db, name)
            known = before if before and before.columns == columns else None
            changed = changed_parts(db, known.no) if known else set(_every_part(db, name))
            if known and not changed:
                return
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
            inventory.stores[name] = Store(no, mark, columns, parts, damaged)
    except sqlite3.Error:
        return  # a comparison names it


def continues(db: sqlite3.Connection, store: Store) -> bool:
    """Tell whether a store has the recorded mark."""
    row = db.execute("select mark from inventory_marks where no = ?", (store.no,)).fetchone()
    return row is not None and row[0] == store.mark


def changed_parts(db: sqlite3.Connection, since: int) -> set[str]:
    """Return the parts that changed after the mark with this number."""
    return {part for (part,) in db.execute("select part from inventory_changed where no >= ?", (since,))}


def damaged_parts(path: Path, name: str, store: Store, parts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield those of these parts whose rows are not what was recorded, each with what differs."""
    with closing(_opened(path)) as db:
        db.execute("begin")
        changed = changed_parts(db, store.no) if columns_of(db, name) == store.columns else None
        for part in parts:
            if changed is None or part in changed:
                continue
            count, recorded = store.parts[part]
            try:
                now = digest(db, name, part)
            except sqlite3.DatabaseError as error:
                yield part, str(error)
                continue
            if now[0] != count:
                yield part, f"{now[0]:,} rows instead of {count:,}"
            elif now[1] != recorded:
                yield part, "other rows than were recorded"


def why_not_continued(path: Path, store: Store) -> str:
    """Return why a store does not continue its record; "" where it does."""
    try:
        with closing(_opened(path)) as db:
            if not _is_tracked(db) or not continues(db, store):
                return "an older version, or another file: it lacks what was last recorded of it"
    except sqlite3.DatabaseError as error:
        return str(error)
    return ""


def structure(path: Path) -> str:
    """Return what SQLite finds wrong in a file when it reads all of it; "" for nothing."""
    try:
        with closing(_opened(path)) as db:
            (found,) = db.execute("pragma integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
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
    return " ".join(
        f"{table.name}.{column}"
        for table in STORES[store]
        for (column,) in db.execute("select name from pragma_table_info(?)", (table.name,))
    )


def _every_part(db: sqlite3.Connection, store: str) -> Iterator[str]:
    for table in STORES[store]:
        for (part,) in db.execute(f"select distinct {_part_of(table, table.name)} from {table.name}"):
            yield part


def _part_of(table: Tracked, row: str) -> str:
    *kinds, column = table.by or ("",)
    values = [*(f"{row}.{kind}" for kind in kinds), *([f"({row}.{column} >> {_BITS})"] if column else [])]
    return " || '/' || ".join([f"'{table.name}'", *values])


def _is_tracked(db: sqlite3.Connection) -> bool:
    return db.execute("select 1 from sqlite_master where name = 'inventory_marks'").fetchone() is not None


def _opened(path: Path) -> sqlite3.Connection:
    """Open a store that is there; nothing is created."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=30, isolation_level=None)


def accept(data_dir: Path) -> None:
    """Record everything as it is now, whatever was recorded: losses are given up."""
    accept_files(data_dir)
    record_stores(data_dir)
