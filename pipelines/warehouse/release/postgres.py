"""Copy a release's core, mart and own into PostgreSQL: by COPY, in one transaction, only the parts that differ.

Tables are partitioned by month as the Parquet files are, with the same column, and a part is replaced where the hash of
its file is another one than that of the copy; schema `ordermart` holds the hashes. Whatever is interrupted when,
PostgreSQL keeps the release that it has. Roles and their rights stay as they are.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import duckdb

from pipelines.clock import utc_now
from pipelines.literals import literal
from pipelines.settings import Settings, SettingsError
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import Table
from pipelines.warehouse.catalogue.meta_tables import ABOUT
from pipelines.warehouse.catalogue.tables import partition_of
from pipelines.warehouse.release.copies import Copied, CopyError, known_copies, release_to_copy, remember_copy
from pipelines.warehouse.release.manifest import ReleaseManifest
from pipelines.warehouse.rows.session import plain_session
from pipelines.warehouse.storage import count_of

if TYPE_CHECKING:
    import psycopg

_TYPES = {
    "DOUBLE": "double precision", "FLOAT": "real", "TIMESTAMP WITH TIME ZONE": "timestamptz", "BLOB": "bytea",
    "HUGEINT": "numeric(39,0)", "UBIGINT": "numeric(20,0)", "UINTEGER": "bigint", "USMALLINT": "integer",
    "UTINYINT": "smallint", "TINYINT": "smallint",
    **{same: same.lower() for same in "BIGINT INTEGER SMALLINT BOOLEAN DATE TIMESTAMP TIME INTERVAL UUID".split()},
}  # fmt: skip
_LOCK = 7_031_646_273  # a number of ours: one copy at a time
_CHUNK = 1 << 20
_KEPT = """
create schema if not exists ordermart;
create table if not exists ordermart.release (release_id text, as_of timestamptz, copied_at timestamptz);
create table if not exists ordermart.tables (table_name text primary key, columns text, comments text);
create table if not exists ordermart.parts (table_name text, month text, sha256 text, primary key (table_name, month));
"""


def copy_to_postgres(settings: Settings, url: str, progress: Callable[[str, int, int], None] | None = None) -> Copied:
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
    release, manifest = release_to_copy(settings)
    try:
        with plain_session(settings) as con, psycopg.connect(url, application_name="ordermart copy") as pg:
            place = f"{pg.info.host}:{pg.info.port}/{pg.info.dbname}"
            if place not in known_copies(settings.data_dir):
                remember_copy(settings.data_dir, place, "")  # a kill after the commit must not hide it
            done = _Copying(con, pg, release, manifest).all(place, progress)
    except duckdb.Error as error:
        raise CopyError(f"{release} cannot be read: {str(error).splitlines()[0]}") from None
    except psycopg.Error as error:
        raise CopyError(f"PostgreSQL has the release that it had: {str(error).splitlines()[0]}") from None
    remember_copy(settings.data_dir, place, manifest.as_of)
    return done


class _Copying:
    """One transaction on the way: nothing of it is seen before it is committed."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, pg: psycopg.Connection, release: Path, manifest: ReleaseManifest
    ) -> None:
        self._con, self._pg, self._release, self._manifest = con, pg, release, manifest
        self._rows = self._parts = 0
        self._written: dict[str, str] = {}  # table → its key

    def all(self, place: str, progress: Callable[[str, int, int], None] | None) -> Copied:
        """Bring every table to the release, and forget those that it does not have."""
        self._pg.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
        self._pg.execute(_KEPT)
        shown = [table for table in catalogue.release_tables() if table.name.startswith(("core.", "mart."))]
        tables = [*shown, *(each.table() for each in self._manifest.own)]
        known = {name: (columns, said) for name, columns, said in self._pg.execute("select * from ordermart.tables")}
        for name in sorted(known.keys() - {table.name for table in tables}):
            self._drop(name)
        for number, table in enumerate(tables, 1):
            (progress or (lambda *_: None))("copying tables", number, len(tables))
            self._define(table, *known.get(table.name, ("", "")))
            self._fill(table)
        self._pg.execute("delete from ordermart.release")
        values = [self._manifest.id, self._manifest.as_of, utc_now()]
        self._pg.execute("insert into ordermart.release values (%s, %s, %s)", values)
        for name, key in sorted(self._written.items()):  # of other columns autovacuum gathers statistics later
            self._pg.execute(f"analyze {name} {key}")
        self._pg.commit()
        return Copied(self._manifest.id, place, tables=len(self._written), parts=self._parts, rows=self._rows)

    def _define(self, table: Table, columns: str, comments: str) -> None:
        """Create a table unless it has these columns, with the rights of the one before, and comment on it."""
        partition = partition_of(table)
        listed = [(column.name, _type(column.type)) for column in table.columns]
        listed += [(partition, "text")] if partition else []
        said = {f'column {table.name}."{column.name}"': column.description for column in table.columns}
        said |= {f"table {table.name}": table.description}
        definition = json.dumps(listed), json.dumps(list(said.values()))
        if (columns, comments) == definition:
            return
        if columns != definition[0]:
            schema, _, name = table.name.partition(".")
            if not columns and self._pg.execute("select 1 where to_regclass(%s) is not null", [table.name]).fetchone():
                raise CopyError(f"PostgreSQL has a table {table.name} that is not a copy: rename it")
            rights = self._pg.execute(_GRANTS, [schema, name]).fetchall()
            self._drop(table.name)
            self._pg.execute(f"create schema if not exists {schema}")
            self._pg.execute(f"comment on schema {schema} is {literal(ABOUT[schema])}")
            nullable = {column.name for column in table.columns if column.nullable} | {partition}
            texts = [f'"{each}" {kind}{"" if each in nullable else " not null"}' for each, kind in listed]
            by = f" partition by list ({partition})" if partition else ""
            self._pg.execute(f"create table {table.name} ({', '.join(texts)}){by}")
            for grantee, right in rights:
                self._pg.execute(f"grant {right} on {table.name} to {grantee}")
        self._pg.execute("; ".join(f"comment on {what} is {literal(text)}" for what, text in said.items()))
        self._pg.execute("delete from ordermart.tables where table_name = %s", [table.name])
        self._pg.execute("insert into ordermart.tables values (%s, %s, %s)", [table.name, *definition])

    def _fill(self, table: Table) -> None:
        """Replace the parts of a table whose file is another one, and drop those that it has no more."""
        files = {file.month: file for file in self._manifest.files if file.table == table.name}
        query = "select month, sha256 from ordermart.parts where table_name = %s"
        there: dict[str, str] = dict(self._pg.execute(query, [table.name]).fetchall())
        partition = partition_of(table)
        for month in sorted(there.keys() | files.keys()):
            file = files.get(month)
            if file and there.get(month) == file.sha256:
                continue
            part = f"{table.name}_{month.replace('-', '_')}" if partition else table.name
            if month in there:
                self._pg.execute(f"truncate {part}" if file or not partition else f"drop table {part}")
            elif partition:
                self._pg.execute(f"create table {part} partition of {table.name} for values in ({literal(month)})")
            self._pg.execute("delete from ordermart.parts where (table_name, month) = (%s, %s)", [table.name, month])
            if file:
                self._write(table, file.path, part, {partition: month} if partition else {})
                self._pg.execute("insert into ordermart.parts values (%s, %s, %s)", [table.name, month, file.sha256])

    def _write(self, table: Table, path: str, part: str, month: Mapping[str, str]) -> None:
        """Copy the rows of a file: as DuckDB writes CSV into a pipe, PostgreSQL reads it."""
        values = [*(_value(column.name, column.type) for column in table.columns), *map(literal, month.values())]
        names = [*(f'"{column.name}"' for column in table.columns), *month]
        source = f"read_parquet({literal(self._release / path)}, hive_partitioning = false)"
        reading, writing = os.pipe()
        if sys.platform == "linux":  # else 64 KiB, and twice the time of the processor
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _CHUNK)
        csv = "(format csv, header false, nullstr '\\N', use_tmp_file false)"
        select = f"copy (select {', '.join(values)} from {source}) to '/dev/fd/{writing}' {csv}"
        with ThreadPoolExecutor(1) as beside, os.fdopen(reading, "rb", buffering=0) as lines:
            done = beside.submit(self._con.cursor().execute, select)
            done.add_done_callback(lambda _: os.close(writing))  # so that its reader does not wait
            into = f"copy {part} ({', '.join(names)}) from stdin (format csv, null '\\N')"
            with self._pg.cursor().copy(into) as copy:
                while chunk := lines.read(_CHUNK):
                    copy.write(chunk)
        self._rows += count_of(done.result())
        self._parts += 1
        key = ", ".join([*table.key, *month])
        self._written[table.name] = f"({key})" if key else ""

    def _drop(self, name: str) -> None:
        """Drop a copied table; one that a view of somebody's reads is not dropped, and the copy fails."""
        self._pg.execute(f"drop table if exists {name}")
        self._pg.execute("delete from ordermart.parts where table_name = %s", [name])
        self._pg.execute("delete from ordermart.tables where table_name = %s", [name])


_GRANTS = """
select case when grantee = 'PUBLIC' then 'public' else quote_ident(grantee) end, privilege_type
from information_schema.role_table_grants
where table_schema = %s and table_name = %s and grantee <> current_user
"""


def _type(kind: str) -> str:
    """Return PostgreSQL's type of one of DuckDB's; text for what it does not have."""
    if kind.endswith("[]") and not kind.endswith("][]"):
        return f"{_type(kind.removesuffix('[]'))}[]"
    return kind.replace("DECIMAL", "numeric") if kind.startswith("DECIMAL") else _TYPES.get(kind, "text")


def _value(name: str, kind: str) -> str:
    """Return a column as PostgreSQL reads it from CSV: bytes in hexadecimal, a list in braces, its texts quoted."""
    if not _type(kind).endswith("[]"):
        return f"'\\x' || hex(\"{name}\")" if kind == "BLOB" else f'"{name}"'
    text = "replace(replace(cast(each as varchar), '\\', '\\\\'), '\"', '\\\"')"
    elements = f"list_transform(\"{name}\", lambda each: coalesce('\"' || {text} || '\"', 'NULL'))"
    return f"case when \"{name}\" is not null then '{{' || array_to_string({elements}, ',') || '}}' end"
