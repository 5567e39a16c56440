"""Every table of a release is the same for pandas, pyarrow, Polars and DuckDB: rows, sums and types."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from pipelines.warehouse import catalogue, publish
from pipelines.warehouse.catalogue.enums import is_enum_type
from pipelines.warehouse.catalogue.partitions import partition_of
from pipelines.warehouse.contracts.contract import ARROW_TYPES
from pipelines.warehouse.release.manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.warehouse.catalogue import Table

MOST = "99999999999999.9999"


@pytest.fixture(scope="module", params=["hostile", "empty"])
def release(request: pytest.FixtureRequest, world_of: Any, makers: Any, tmp_path_factory: Any) -> Path:
    """Give the release of a world with null times and the largest amounts, and of one in which nothing has landed."""
    make_order, make_menu, make_store = makers
    world = world_of(tmp_path_factory.mktemp(request.param))
    if request.param == "hostile":
        world.land("stores", [{"id": 1, "document": make_store(1, name="'\u202e; drop table\n\x1b[0m" * 9)}])
        world.land("menus", [{"id": 1, "document": make_menu(1)}])
        orders = [
            make_order(1, created_at=None, requested_time=None),
            make_order(2, created_at="9999-12-31T10:00:00Z", store_id=None, total_price=MOST),
            make_order(
                3, store_id=1, created_at="2026-10-31T23:30:00Z", items=None, deliveries=None, total_price=f"-{MOST}"
            ),
            make_order(2**63 - 1),
        ]
        world.land("orders", [{"id": each["id"], "document": each} for each in orders])
        world.land("orders", [{"id": 1, "at": 1, "document": orders[0] | {"tip": "3"}}])
    publish(world.settings, world.build())
    folder: Path = (world.data / "published" / "current").resolve()
    return folder


def folder_of(release: Path, table: Table) -> Path:
    """Return the folder of a table's Parquet."""
    return release / "parquet" / table.name.replace(".", "/")


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of a column of a contract: words are texts in Parquet."""
    return pa.string() if is_enum_type(kind) else ARROW_TYPES[kind]


@pytest.fixture(scope="module")
def con(release: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection to the release's DuckDB file."""
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True, config={"threads": 1}) as connection:
        yield connection


@pytest.fixture(scope="module")
def stated(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Give the number of rows of each table, and the sum of each column of decimals, in the DuckDB file."""
    return {table.name: sums(con, table, f"from {table.name}") for table in catalogue.released()}


def sums(con: duckdb.DuckDBPyConnection, table: Table, relation: str) -> dict[str, Any]:
    """Return the number of rows, and the sum of each column of decimals, of a relation as DuckDB reads it."""
    parts = "".join(f', sum("{name}"::decimal(38, 4))' for name in numbers(table))
    row = con.execute(f"select count(*){parts} {relation}").fetchone()
    assert row is not None
    return dict(zip(["", *numbers(table)], row, strict=True))


def numbers(table: Table) -> list[str]:
    """Return the columns of decimals of a table."""
    return [column.name for column in table.columns if column.type.startswith("DECIMAL") and column.type[-1] != "]"]


def added(values: Any) -> decimal.Decimal | None:
    """Add decimals up exactly, as SQL does: nothing comes to null."""
    found = [value for value in values if value is not None and not pd.isna(value)]
    with decimal.localcontext(prec=60):
        return sum(found, decimal.Decimal(0)) if found else None


@pytest.mark.duckdb2
def test_duckdb_reads_what_the_file_says(release: Path, con: Any, stated: Any) -> None:
    """DuckDB reads each folder with one pattern; months are texts in every table."""
    for table in catalogue.released():
        files = f"read_parquet('{folder_of(release, table)}/**/*.parquet', hive_partitioning = true)"
        assert sums(con, table, f"from {files}") == stated[table.name], table.name
        types = {row[0]: row[1] for row in con.execute(f"describe from {files}").fetchall()}
        columns = {each.name: "VARCHAR" if is_enum_type(each.type) else each.type for each in table.columns}
        assert types == columns | ({partition_of(table): "VARCHAR"} if partition_of(table) else {}), table.name


def test_pyarrow_reads_what_the_file_says(release: Path, stated: Any) -> None:
    """A dataset of a table's folder has the columns of the contract, in their types, and the month as a text."""
    for table in catalogue.released():
        found = ds.dataset(folder_of(release, table), partitioning="hive").to_table()
        schema = {each.name: arrow_type(each.type) for each in table.columns}
        assert dict(zip(found.schema.names, found.schema.types, strict=True)) == schema | (
            {partition_of(table): pa.string()} if partition_of(table) else {}
        ), table.name
        said = {"": found.num_rows} | {name: added(found[name].to_pylist()) for name in numbers(table)}
        assert said == stated[table.name], table.name


def test_pandas_reads_what_the_file_says(release: Path, stated: Any) -> None:
    """Each folder is read by pandas, with its own types and with Arrow's; decimals stay decimals in both."""
    for table in catalogue.released():
        plain = pd.read_parquet(folder_of(release, table))
        frame = pd.read_parquet(folder_of(release, table), dtype_backend="pyarrow")
        for found in (plain, frame):
            said = {"": len(found)} | {name: added(found[name]) for name in numbers(table)}
            assert said == stated[table.name], table.name
        for column in table.columns:
            assert frame[column.name].dtype == pd.ArrowDtype(arrow_type(column.type)), (table.name, column.name)


def test_polars_reads_what_the_file_says(release: Path, stated: Any) -> None:
    """Polars reads each folder; its types are those of Arrow, and months are texts."""
    for table in catalogue.released():
        frame = pl.read_parquet(f"{folder_of(release, table)}/**/*.parquet", hive_partitioning=True)
        said = {"": len(frame)} | {name: added(frame[name]) for name in numbers(table)}
        assert said == stated[table.name], table.name
        empty = pl.from_arrow(pa.schema([(each.name, arrow_type(each.type)) for each in table.columns]).empty_table())
        months = {partition_of(table): pl.String} if partition_of(table) else {}
        assert isinstance(empty, pl.DataFrame)
        assert dict(frame.schema) == dict(empty.schema) | months, table.name


def test_folders_are_named_for_their_month(release: Path) -> None:
    """Each file is in the folder of its month; rows without a time are in `unknown`, and so are tables without rows."""
    manifest = read_manifest(release)
    assert manifest is not None
    for table in catalogue.released():
        files = [file for file in manifest.files if file.table == table.name]
        assert files, table.name
        column = partition_of(table)
        for file in files:
            assert (f"/{column}={file.month}/" in file.path) if column else file.month == "", file.path
        if column and not manifest.rows[table.name]:
            assert [file.month for file in files] == ["unknown"], table.name
    if manifest.rows["mart.orders"]:
        months = {file.month for file in manifest.files if file.table == "mart.orders"}
        assert months == {"unknown", "9999-12", "2026-11"}  # 23:30 UTC on 31 October, in Berlin
        created = ds.dataset(release / "parquet/core/orders", partitioning="hive").to_table()
        assert sorted(created["created_month"].to_pylist()) == ["2026-10", "2026-11", "9999-12", "unknown"]
        unknown = created.filter(pc.equal(created["created_month"], "unknown"))
        assert unknown["created_at"].to_pylist() == [None]
