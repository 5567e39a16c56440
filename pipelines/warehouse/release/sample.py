"""Copy a share of a release's orders, whole, into a folder of its own: a DuckDB file and Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from pipelines.literals import literal
from pipelines.warehouse import catalogue, storage
from pipelines.warehouse.catalogue.meta_tables import create_macros

if TYPE_CHECKING:
    from pathlib import Path

_DATABASE = "ordermart.duckdb"


class SampleError(Exception):
    """A sample cannot be written; the message says why."""


def write_sample(release: Path, folder: Path, parts: int) -> dict[str, int]:
    """Write one of so many parts of a release's orders into a new folder; return the number of rows of each table.

    An order is drawn by a hash of its id, so the same orders are drawn from each release. Other tables, totals by day
    among them, are copied in full. Raise SampleError if the folder exists.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise SampleError(f"{folder} exists: name a new folder") from None
    rows = {}
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'")
        con.execute("set preserve_insertion_order = false")
        con.execute(f"attach {literal(release / _DATABASE)} as whole (read_only)")
        con.execute(f"attach {literal(folder / _DATABASE)} as sample {storage.DRAFT}")
        for schema in ("meta", "ref", *catalogue.SCHEMAS):
            con.execute(f"create schema sample.{schema}")
        found = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() where database_name = 'whole' order by 1"
        ).fetchall()
        for (name,) in found:
            rows[name] = _copy(con, folder, name, parts)
        con.execute("checkpoint sample")
        con.execute("detach sample")
    with duckdb.connect(str(folder / _DATABASE)) as con:
        create_macros(con)
    return rows


def _copy(con: duckdb.DuckDBPyConnection, folder: Path, name: str, parts: int) -> int:
    """Copy a table, only rows of the orders drawn where it is about orders; return how many rows it has."""
    tables = {table.name: table for table in catalogue.released()}
    is_of_orders = name in tables and tables[name].scope in {"order", "comparison"}
    drawn = f"where hash(order_id) % {parts} = 0" if is_of_orders else ""
    con.execute(f"create table sample.{name} as from whole.{name} {drawn}")
    _comment(con, name)
    parquet = folder / "parquet" / f"{name.replace('.', '/')}.parquet"
    parquet.parent.mkdir(parents=True, exist_ok=True)
    con.execute(f"copy sample.{name} to {literal(parquet)} (format parquet, compression zstd)")
    return storage.count_of(con.execute(f"select count(*) from sample.{name}"))


def _comment(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Copy the comments of a table and its columns."""
    schema, _, table = name.partition(".")
    of_table = "where database_name = 'whole' and schema_name = ? and table_name = ?"
    ((said,),) = con.execute(f"select comment from duckdb_tables() {of_table}", [schema, table]).fetchall()
    columns = f"select column_name, coalesce(comment, '') from duckdb_columns() {of_table}"
    storage.comment(con, f"sample.{name}", said or "", con.execute(columns, [schema, table]).fetchall())
