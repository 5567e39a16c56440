"""Copy a release's core, mart and own into PostgreSQL: by COPY, in one transaction, only the parts that differ.

Tables are partitioned by month as the Parquet files are, with the same column, and a part is replaced where the hash of
its file is another one than that of the copy; schema `ordermart` holds the hashes. Whatever is interrupted when,
PostgreSQL keeps the release that it has. Roles and their rights stay as they are.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import duckdb
import msgspec

from pipelines.clock import utc_now
from pipelines.durable import write_whole
from pipelines.literals import literal
from pipelines.record import current_release
from pipelines.settings import SettingsError
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.meta_tables import ABOUT
from pipelines.warehouse.catalogue.tables import partition_of
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.rows.session import plain_session
from pipelines.warehouse.storage import count_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import psycopg

    from pipelines.settings import Settings
    from pipelines.warehouse.catalogue import Table

_TYPES = {
    "VARCHAR": "text",
    "DOUBLE": "double precision",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "HUGEINT": "numeric(39,0)",
    "UBIGINT": "numeric(20,0)",
    "TINYINT": "smallint",
    "BLOB": "bytea",
}
_SAME = {"BIGINT", "INTEGER", "SMALLINT", "BOOLEAN", "DATE", "TIMESTAMP", "TIME", "INTERVAL", "UUID"}
_LOCK = 7_031_646_273  # a number of ours: one copy at a time
_CHUNK = 1 << 20
_KEPT = """
create schema if not exists ordermart;
create table if not exists ordermart.release (release_id text, as_of timestamptz, copied_at timestamptz);
create table if not exists ordermart.tables (table_name text primary key, columns text, comments text);
create table if not exists ordermart.parts (table_name text, month text, sha256 text, primary key (table_name, month));
"""


class CopyError(Exception):
    """Nothing was copied, PostgreSQL has the release that it had; the message says why."""


class Copied(NamedTuple):
    """The release that PostgreSQL has now, and how many tables, parts and rows were written for it."""

    release_id: str
    place: str
    tables: int
    parts: int
    rows: int


class Copy(msgspec.Struct, frozen=True):
    """A copy of a release in PostgreSQL: where, which, and of which time; "" while the first one goes there."""

    place: str
    release_id: str
    as_of: str


def copy_release(settings: Settings, url: str, progress: Callable[[str, int, int], None] | None = None) -> Copied:
    """Bring the current release into the PostgreSQL database of a URL.

    The password comes from PGPASSWORD or the file of PGPASSFILE. Raise SettingsError for a URL with a password, or
    without psycopg; CopyError if PostgreSQL refuses, or if a table of the same name is not a copy.
    """
    try:
        import psycopg  # noqa: PLC0415 -- an extra
    except ImportError:
        raise SettingsError("ordermart copy needs psycopg: pip install 'ordermart[postgres]'") from None
    if urlsplit(url).password or "password=" in url:
        raise SettingsError("--to: other users see a password in an argument; set PGPASSWORD or PGPASSFILE")
    release = current_release(settings.data_dir / "published")
    if release is None:
        raise CopyError("there is no release to copy: run `ordermart run` first")
    try:
        with plain_session(settings) as con, psycopg.connect(url, application_name="ordermart copy") as pg:
            place = f"{pg.info.host}:{pg.info.port}/{pg.info.dbname}"
            if place not in {each.place for each in copies(settings.data_dir)}:
                _remember(settings.data_dir, Copy(place, "", ""))  # a kill after the commit must not hide it
            copying = _Copying(con, pg, release, settings.data_dir / "warehouse" / "spill")
            done = copying.all(progress)._replace(place=place)
    except duckdb.Error as error:
        raise CopyError(f"{release} cannot be read: {str(error).splitlines()[0]}") from None
    except psycopg.Error as error:
        raise CopyError(f"PostgreSQL has the release that it had: {str(error).splitlines()[0]}") from None
    manifest = read_manifest(release)
    _remember(settings.data_dir, Copy(done.place, done.release_id, manifest.as_of if manifest else ""))
    return done


def copies(data_dir: Path) -> list[Copy]:
    """Return which copies there are; if the list cannot be read, one of which nothing is known."""
    try:
        return msgspec.json.decode(_file(data_dir).read_bytes(), type=list[Copy])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError):
        return [Copy(f"whatever {_file(data_dir)} named, which cannot be read", "", "")]


def copies_holding(data_dir: Path, erased_at: dt.datetime | None) -> list[Copy]:
    """Return the copies of releases from before an erasure."""
    if erased_at is None:
        return []
    return [each for each in copies(data_dir) if not each.as_of or dt.datetime.fromisoformat(each.as_of) < erased_at]


def _remember(data_dir: Path, copy: Copy) -> None:
    others = [each for each in copies(data_dir) if each.place != copy.place]
    write_whole(_file(data_dir), msgspec.json.encode([*others, copy]))


def _file(data_dir: Path) -> Path:
    return data_dir / "copies.json"  # not below published/, which people may remove


class _Copying:
    """One transaction on the way: nothing of it is seen before it is committed."""

    def __init__(self, con: duckdb.DuckDBPyConnection, pg: psycopg.Connection, release: Path, spill: Path) -> None:
        manifest = read_manifest(release)
        if manifest is None:
            raise CopyError(f"{release} has no manifest that can be read: run `ordermart build`")
        self._con, self._pg, self._release, self._manifest = con, pg, release, manifest
        self._pipe = spill / f"copy-{secrets.token_hex(4)}"  # DuckDB writes into it while PostgreSQL reads
        self._rows = self._parts = 0
        self._written: set[str] = set()

    def all(self, progress: Callable[[str, int, int], None] | None) -> Copied:
        """Bring every table to the release, and forget those that it does not have."""
        self._pg.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
        for statement in filter(str.strip, _KEPT.split(";")):
            self._pg.execute(statement)
        shown = [table for table in catalogue.released() if table.name.startswith(("core.", "mart."))]
        tables = [*shown, *(each.table() for each in self._manifest.own)]
        known = {name: (columns, said) for name, columns, said in self._all("select * from ordermart.tables")}
        for name in sorted(known.keys() - {table.name for table in tables}):
            self._drop(name)
        for number, table in enumerate(tables, 1):
            (progress or (lambda *_: None))("copying tables", number, len(tables))
            self._bring(table, known.get(table.name))
        self._pg.execute("delete from ordermart.release")
        values = [self._manifest.id, self._manifest.as_of, utc_now()]
        self._pg.execute("insert into ordermart.release values (%s, %s, %s)", values)
        self._pg.commit()
        for name in sorted(self._written):
            self._do(f"analyze {name}")
        return Copied(self._manifest.id, "", len(self._written), self._parts, self._rows)

    def _bring(self, table: Table, known: tuple[str, str] | None) -> None:
        partition = partition_of(table)
        listed = [(column.name, _type(column.type)) for column in table.columns]
        columns = json.dumps([*listed, *([(partition, "text")] if partition else [])])
        if known and known[0] != columns:
            grants = self._all(_GRANTS, [*table.name.split(".")])
            self._drop(table.name)
            self._create(table, columns, partition)
            for grantee, right in grants:
                self._do(f"grant {right} on {table.name} to {grantee}")
        elif not known:
            schema, _, name = table.name.partition(".")
            if self._all("select 1 from pg_tables where schemaname = %s and tablename = %s", [schema, name]):
                raise CopyError(f"PostgreSQL has a table {table.name} that is not a copy: rename it")
            self._create(table, columns, partition)
        comments = json.dumps([table.description, *(column.description for column in table.columns)])
        if not known or known != (columns, comments):
            self._comment(table, columns, comments)
        self._bring_parts(table, partition)

    def _bring_parts(self, table: Table, partition: str) -> None:
        """Replace the parts of a table whose file is another one, and drop those that it has no more."""
        files = {file.month: file for file in self._manifest.files if file.table == table.name}
        there = dict(self._all("select month, sha256 from ordermart.parts where table_name = %s", [table.name]))
        for month in sorted(there.keys() - files.keys()):
            self._do(f"drop table {_part(table.name, month)}" if partition else f"truncate {table.name}")
            self._pg.execute("delete from ordermart.parts where (table_name, month) = (%s, %s)", [table.name, month])
        for month, file in sorted(files.items()):
            if there.get(month) != file.sha256:
                target = table.name
                if partition:
                    target = _part(table.name, month)
                    if month not in there:
                        self._do(f"create table {target} partition of {table.name} for values in ({literal(month)})")
                if month in there:
                    self._do(f"truncate {target}")
                self._write(table, file.path, target, month if partition else None)
                self._note(table.name, month, file.sha256)

    def _write(self, table: Table, path: str, target: str, month: str | None) -> None:
        """Copy the rows of a file: as DuckDB writes CSV, PostgreSQL reads it."""
        values = [_value(column.name, column.type) for column in table.columns]
        names = [f'"{column.name}"' for column in table.columns]
        if month is not None:
            values.append(literal(month))
            names.append(partition_of(table))
        source = f"read_parquet({literal(self._release / path)}, hive_partitioning = false)"
        written = f"copy (select {', '.join(values)} from {source}) to {literal(self._pipe)}"
        into = f"copy {target} ({', '.join(names)}) from stdin (format csv, null '\\N')"
        csv = f"{written} (format csv, header false, nullstr '\\N', use_tmp_file false)"
        os.mkfifo(self._pipe, 0o600)
        try:
            with ThreadPoolExecutor(1) as beside:
                done = beside.submit(self._fill, csv)
                with self._pipe.open("rb") as lines, self._pg.cursor().copy(into) as copy:
                    while chunk := lines.read(_CHUNK):
                        copy.write(chunk)
                self._rows += done.result()
        finally:
            self._pipe.unlink()
        self._parts += 1
        self._written.add(table.name)

    def _fill(self, csv: str) -> int:
        """Have DuckDB write into the pipe; return how many rows. Its reader waits no more."""
        try:
            return count_of(self._con.cursor().execute(csv))
        finally:
            with contextlib.suppress(OSError):
                os.close(os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK))

    def _create(self, table: Table, columns: str, partition: str) -> None:
        schema = table.name.partition(".")[0]
        self._do(f"create schema if not exists {schema}")
        self._do(f"comment on schema {schema} is {literal(ABOUT[schema])}")
        nullable = {column.name for column in table.columns if column.nullable} | {partition}
        listed = [f'"{name}" {kind}{"" if name in nullable else " not null"}' for name, kind in json.loads(columns)]
        by = f" partition by list ({partition})" if partition else ""
        self._do(f"create table {table.name} ({', '.join(listed)}){by}")

    def _comment(self, table: Table, columns: str, comments: str) -> None:
        self._do(f"comment on table {table.name} is {literal(table.description)}")
        for column in table.columns:
            self._do(f'comment on column {table.name}."{column.name}" is {literal(column.description)}')
        replaced = "on conflict (table_name) do update set columns = excluded.columns, comments = excluded.comments"
        self._pg.execute(
            f"insert into ordermart.tables values (%s, %s, %s) {replaced}", [table.name, columns, comments]
        )

    def _note(self, table: str, month: str, sha256: str) -> None:
        replaced = "on conflict (table_name, month) do update set sha256 = excluded.sha256"
        self._pg.execute(f"insert into ordermart.parts values (%s, %s, %s) {replaced}", [table, month, sha256])

    def _drop(self, name: str) -> None:
        """Drop a copied table; one that a view of somebody's reads is not dropped, and the copy fails."""
        self._do(f"drop table if exists {name}")
        self._pg.execute("delete from ordermart.parts where table_name = %s", [name])
        self._pg.execute("delete from ordermart.tables where table_name = %s", [name])

    def _do(self, statement: str) -> None:
        self._pg.execute(statement)

    def _all(self, query: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        return list(self._pg.execute(query, values))


_GRANTS = """
select case when grantee = 'PUBLIC' then 'public' else quote_ident(grantee) end, privilege_type
from information_schema.role_table_grants
where table_schema = %s and table_name = %s and grantee <> current_user
"""


def _part(table: str, month: str) -> str:
    """Return the name of a table's part of a month."""
    return f"{table}_{month.replace('-', '_')}"


def _type(kind: str) -> str:
    """Return PostgreSQL's type of one of DuckDB's."""
    if kind.endswith("[]"):
        return f"{_type(kind.removesuffix('[]'))}[]"
    if kind.startswith("DECIMAL"):
        return kind.replace("DECIMAL", "numeric")
    return _TYPES.get(kind) or (kind.lower() if kind in _SAME else "text")


def _value(name: str, kind: str) -> str:
    """Return a column as PostgreSQL reads it from CSV: a list in braces, its texts quoted."""
    if not kind.endswith("[]"):
        return f'"{name}"'
    text = "replace(replace(cast(each as varchar), '\\', '\\\\'), '\"', '\\\"')"
    quoted = f"'\"' || {text} || '\"'" if re.match("VARCHAR|ENUM", kind) else "cast(each as varchar)"
    elements = f"list_transform(\"{name}\", lambda each: coalesce({quoted}, 'NULL'))"
    return f"case when \"{name}\" is not null then '{{' || array_to_string({elements}, ',') || '}}' end"
