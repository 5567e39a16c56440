"""Every table of a release is the same for pandas, pyarrow, Polars and DuckDB: rows, sums and types."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import partition_of
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import publish
from tests.readers import arrow_type, differences, folder_of, month_of, stated

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ROOT / ".venv-readers" / "bin" / "python"  # `.ci/run` makes it
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


@pytest.mark.slow
@pytest.mark.parametrize("reader", [pytest.param("duckdb", marks=pytest.mark.duckdb2), "pandas", "pyarrow", "polars"])
def test_reader_reads_what_the_file_says(release: Path, reader: str) -> None:
    """Each tool reads each table's folder with the rows, exact sums and types of the DuckDB file; months are texts."""
    assert list(differences(release, reader)) == []


@pytest.mark.slow
@pytest.mark.readers
@pytest.mark.skipif(not OTHERS.exists(), reason="DuckDB 1.4 and Spark are not installed: requirements-readers.lock")
def test_duckdb_1_4_and_spark_read_what_the_file_says(release: Path) -> None:
    """So do an older DuckDB, which reads the file and Parquet, and Spark, in an environment of their own."""
    command = [str(OTHERS), str(ROOT / "tests" / "readers.py"), str(release), "duckdb", "spark"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert [line.split(":")[-1].strip() for line in done.stdout.splitlines()] == ["0 differences"] * 2


@pytest.mark.slow
@pytest.mark.duckdb2
def test_file_has_the_types_of_the_contracts(release: Path) -> None:
    """The DuckDB file has every released table, with the columns of its contract in their types."""
    assert {name: said.types for name, said in stated(release).items()} == {
        table.name: {column.name: arrow_type(column.type) for column in table.columns}
        for table in catalogue.release_tables()
    }
    for table in catalogue.release_tables():
        assert set(month_of(folder_of(release, table.name))) == {partition_of(table)} - {""}, table.name


@pytest.mark.slow
def test_files_that_differ_are_found(release: Path, tmp_path: Path) -> None:
    """A row too few, another sum, another type and a table too many are named."""
    copy = tmp_path / "release"
    shutil.copytree(release, copy, ignore=lambda _, names: [n for n in names if n in {"core", "audit"}])
    for schema in ("core", "audit"):
        (copy / "parquet" / schema).mkdir()
    (copy / "parquet" / "mart" / "other").mkdir()
    (file,) = folder_of(copy, "mart.products").rglob("*.parquet")
    columns = pq.read_table(file)
    pq.write_table(columns.rename_columns(["number", *columns.column_names[1:]]), file)
    for file in folder_of(copy, "mart.orders").rglob("*.parquet"):
        pq.write_table(pq.read_table(file).slice(1), file)
    found = "\n".join(differences(copy, "duckdb"))
    assert "folders and tables differ: audit." in found
    assert "mart.other" in found
    assert "duckdb reads mart.products in other types: product_id None" in found
    rows = read_manifest(release).rows["mart.orders"]  # type: ignore[union-attr]
    assert (f"of mart.orders, not {rows}" in found) is bool(rows)
    assert ("adds mart.orders up to something else: " in found) is bool(rows)


@pytest.mark.slow
def test_folders_are_named_for_their_month(release: Path) -> None:
    """Each file is in the folder of its month; rows without a time are in `unknown`, and so are tables without rows."""
    manifest = read_manifest(release)
    assert manifest is not None
    for table in catalogue.release_tables():
        files = [file for file in manifest.files if file.table == table.name]
        assert files, table.name
        column = partition_of(table)
        for file in files:
            assert (f"/{column}={file.month}/" in file.path) if column else file.month == "", file.path
        if column and not manifest.rows[table.name]:
            assert [file.month for file in files] == ["unknown"], table.name
    if manifest.rows["mart.orders"]:
        months = {file.month for file in manifest.files if file.table == "mart.orders"}
        assert months == {"unknown", "2026-11"}  # 23:30 UTC on 31 October, in Berlin; the year 9999 is not stated
        created = ds.dataset(release / "parquet/core/orders", partitioning="hive").to_table()
        assert sorted(created["created_month"].to_pylist()) == ["2026-10", "2026-11", "unknown", "unknown"]
        unknown = created.filter(pc.equal(created["created_month"], "unknown"))
        assert unknown["created_at"].to_pylist() == [None, None]
