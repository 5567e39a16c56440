"""Schema meta: a release says what it holds, what it answers and what it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml
from open_data_contract_standard.model import OpenDataContractStandard

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import META, Example, examples, not_available
from pipelines.warehouse.release.release import publish

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def con(world_of: Any, makers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the release of a store, a menu and three orders, one of them changed once."""
    make_order, make_menu, make_store = makers
    world = world_of(tmp_path_factory.mktemp("meta"), ORDERMART_SALES__COUNTED_STATUSES='["preparing"]')
    world.land("stores", [{"id": 1, "document": make_store(1)}])
    world.land("menus", [{"id": 1, "document": make_menu(1)}])
    promised = {"store_id": 1, "promised_delivery_time": "2026-11-01T12:00:00Z"}
    orders = [make_order(number, **promised) for number in (1, 2, 3)]
    world.land("orders", [{"id": each["id"], "document": each, "customer": "c"} for each in orders])
    world.land("orders", [{"id": 1, "at": 1, "document": orders[0] | {"tip": "3"}, "customer": "c"}])
    publish(world.settings, world.build())
    file = (world.data / "published" / "current").resolve() / "ordermart.duckdb"
    with duckdb.connect(str(file), read_only=True, config={"threads": 1}) as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute("set variable folder = ?", [str(file.parent)])
        yield connection


def column(con: duckdb.DuckDBPyConnection, sql: str) -> list[Any]:
    """Return the first column of a select."""
    return [row[0] for row in con.execute(sql).fetchall()]


@pytest.mark.duckdb2
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_example_answers_in_the_release(con: duckdb.DuckDBPyConnection, example: Example) -> None:
    """Each query runs as `meta.examples` has it, twice to the same rows, and reads tables that are released."""
    (query,) = column(con, f"select query from meta.examples where example_name = '{example.name}'")
    rows = con.execute(query).fetchall()
    assert rows == con.execute(query).fetchall()
    assert {name.partition(".")[0] for name in example.tables} <= {*catalogue.SCHEMAS, "ref", "meta"}
    if example.tables == ("mart.orders",):
        assert rows


def test_there_are_enough_examples() -> None:
    """At least thirty questions, each once, and one that reads each mart."""
    assert len({example.question for example in examples()}) == len(examples()) >= 30
    read = {name for example in examples() for name in example.tables}
    assert {table.name for table in catalogue.release_tables() if table.name.startswith("mart.")} - read == set()


def test_tables_and_columns_are_those_of_the_file(con: duckdb.DuckDBPyConnection) -> None:
    """meta.tables counts what each table has, and meta.columns has each column in its type."""
    for name, count in con.execute("select table_name, row_count from meta.tables").fetchall():
        assert con.execute(f"select count(*) from {name}").fetchone() == (count,)
    found = "select schema_name || '.' || table_name, column_name, column_index, data_type from duckdb_columns()"
    of_tables = " where schema_name in ('core', 'mart', 'audit', 'workings', 'meta', 'ref')"
    said = "select table_name, column_name, column_no, data_type from meta.columns"
    assert con.execute(f"{said} except ({found}{of_tables})").fetchall() == []
    assert con.execute(f"({found}{of_tables}) except {said}").fetchall() == []
    keys = column(con, "select column_name from meta.columns where is_key and table_name = 'mart.order_lines'")
    assert keys == column(con, "select unnest(key_columns) from meta.tables where table_name = 'mart.order_lines'")
    partitions = dict(con.execute("select table_name, partitioned_by from meta.tables").fetchall())
    assert [partitions[name] for name in ("mart.orders", "core.orders", "core.menus")] == [
        "business_month",
        "created_month",
        None,
    ]


def test_not_available_names_what_is_asked_for(con: duckdb.DuckDBPyConnection) -> None:
    """Each subject has a reason and a place to join from; a table that is named as the closest answer exists."""
    subjects = set(column(con, "select subject from meta.not_available"))
    assert subjects >= {"tax", "net sales", "refunds", "payment method", "commission", "payout"}
    assert subjects >= {"actual delivery time", "reason of cancelling"}
    known = {table.name for table in catalogue.release_tables()}
    for each in not_available():
        assert all(each[:-1])
        words = each.closest.replace(":", " ").replace(",", " ").split()
        named = {".".join(word.split(".")[:2]) for word in words if word.startswith(("mart.", "core.", "audit."))}
        assert named <= known, each.subject


def test_meta_is_in_parquet_too(con: duckdb.DuckDBPyConnection) -> None:
    """Every table of meta has one file with the same rows, and a comment on each column."""
    (folder,) = column(con, "select getvariable('folder')")
    counts = {meta.name: con.execute(f"select count(*) from {meta.name}").fetchall()[0][0] for meta in META}
    for name, rows in counts.items():
        assert pq.read_table(f"{folder}/parquet/{name.replace('.', '/')}").num_rows == rows
    assert {name for name, rows in counts.items() if not rows} <= {
        "meta.changes",
        "meta.changed_amounts",
        "meta.models",
    }
    assert column(con, "select column_name from duckdb_columns() where schema_name = 'meta' and comment is null") == []


@pytest.mark.slow
def test_data_contract_is_the_standards(con: duckdb.DuckDBPyConnection) -> None:
    """The release's contract is valid by the standard's own package and schema, and describes the file."""
    (folder,) = column(con, "select getvariable('folder')")
    text = (Path(folder) / "contract.odcs.yaml").read_text(encoding="utf-8")
    jsonschema.validate(yaml.safe_load(text), json.loads(OpenDataContractStandard.json_schema()))
    contract = OpenDataContractStandard.from_string(text)
    said = {
        (table.physicalName, part.name, part.physicalType, part.required, bool(part.primaryKey))
        for table in contract.schema_ or []
        for part in table.properties or []
    }
    stored = con.execute(
        """
        select
            table_name, column_name, if(starts_with(data_type, 'ENUM'), 'VARCHAR', data_type), not is_nullable, is_key
        from meta.columns
        where split_part(table_name, '.', 1) in ('core', 'mart', 'audit', 'workings')
        """
    ).fetchall()
    assert said == set(stored)
    (orders,) = (table for table in contract.schema_ or [] if table.name == "mart.orders")
    (sale_class,) = (part for part in orders.properties or [] if part.name == "sale_class")
    assert [each.value for each in sale_class.enum or []] == ["counted", "deleted", "excluded", "unmapped"]
    assert orders.quality
