"""A table's contract is the head of its SQL file: it describes the select's result, said once, in its order."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipelines.landing.shape import read_sql
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import Table
from pipelines.warehouse.contracts import CatalogueError, Column, Contract, contract_of, glossary, head_of
from pipelines.warehouse.evidence.verdicts import create_candidates
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.inputs.relations import FORMULA_CANDIDATES
from pipelines.warehouse.rows.fresh_rows import has_declared_columns
from pipelines.warehouse.rows.session import create_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

# Reads what a build wants of every table, and names the slow libraries that this imported.
READ = """
import sys
import pipelines.partner.client, pipelines.warehouse.catalogue
from pipelines.warehouse.catalogue import tables
assert all(table.columns and table.key is not None for table in tables())
print(*sorted({"pandas", "pandera", "aiohttp"} & sys.modules.keys()))
"""
HEAD = """\
-- One row per store and day.
--
-- Source: mart.orders, of every
-- sale class.
-- Caveats: none.
--
-- key: store_id, day
-- scope: day
--
-- day DATE: The day.
-- busy_hours BIGINT null >= 0 <= 24: Hours,
--     of 24.
-- mood ENUM('good', 'bad'): How it went.
"""
SELECT = "select store_id, day, busy_hours, mood, order_count from (select 1 as store_id, 2 as order_count)"


def said(head: str = HEAD, select: str = SELECT) -> Contract:
    """Return the contract of a file of this head and select."""
    return contract_of(head_of(head + select), catalogue.reads(select).columns)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with every table that a select may read, all empty."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("set timezone = 'UTC'")
        for schema in ("raw", *catalogue.SCHEMAS):
            connection.execute(f"create schema if not exists {schema}")
        create_functions(connection)
        create_candidates(connection)
        columns = {name: kinds for name, kinds in relations.RAW.items() if name not in FORMULA_CANDIDATES}
        columns |= {table.name: {each.name: each.type for each in table.columns} for table in catalogue.tables()}
        for name, kinds in columns.items():
            connection.execute(f"create table {name} ({', '.join(f'{column} {kinds[column]}' for column in kinds)})")
        yield connection


@pytest.mark.parametrize("table", catalogue.tables(), ids=lambda table: table.name)
def test_select_gives_what_the_head_says(con: duckdb.DuckDBPyConnection, table: Table) -> None:
    """DuckDB describes the select of every table with the names, types and order of its contract."""
    assert has_declared_columns(con, table, table.sql).sample == []


def test_a_wrong_type_is_found(con: duckdb.DuckDBPyConnection) -> None:
    """A select of another type than the head, or the glossary, says breaks the contract."""
    select = "select 1::bigint as menu_id, '2' as edge_count"
    head = "-- One row per menu.\n--\n-- edge_count BIGINT: How many.\n"
    table = Table(**vars(said(head, select)), name="core.planted", sql=select, reads=catalogue.reads(select))
    (wrong,) = has_declared_columns(con, table, select).sample
    assert wrong == {"column": "edge_count", "declared": "BIGINT", "found": "VARCHAR"}


def test_head_is_read_as_it_is_written() -> None:
    """A head gives grain, source, caveats, key, scope and columns; what it leaves out is the glossary's."""
    contract = said()
    assert (
        contract.description
        == "One row per store and day.\n\nSource: mart.orders, of every\nsale class.\nCaveats: none."
    )
    assert (contract.key, contract.scope, contract.is_released) == (("store_id", "day"), "day", True)
    store, day, hours, mood, orders = contract.columns
    assert day == Column("day", "DATE", nullable=False, description="The day.")
    assert hours == Column("busy_hours", "BIGINT", nullable=True, description="Hours, of 24.", least=0, most=24)
    assert mood.words == ("bad", "good")
    assert (store.nullable, store.description) == (True, glossary()["store_id"].meaning)
    assert orders.doubt() == '"order_count" < 1 or "order_count" is null'


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("-- day DATE: The day.\n", "", "column day has no type"),
        ("-- day DATE: The day.\n", "-- day DATE\n", "column day has no meaning"),
        ("-- mood", "-- moods", "the head names moods, which the select does not give"),
        (
            "-- day DATE: The day.\n",
            "-- mood DATE: A.\n-- day DATE: The day.\n",
            "in another order than the select",
        ),
        ("-- key: store_id, day", "-- key: store_id, days", "the key or the span names days, which is not a column"),
        ("-- scope: day", "-- scope: hour", "scope hour is none of order, "),
        ("-- scope: day", "-- scope of a day", "no fact of a table: 'scope of a day'"),
        ("-- day DATE: The day.", "-- day: DATE, The day: it", "column day has no type"),
        ("null >= 0", ">= 0 null", "no line of a column"),
        (HEAD, "", "the first line must state the grain"),
    ],
)
def test_a_wrong_head_is_refused(before: str, after: str, message: str) -> None:
    """A line that is missing, out of order, undescribed or misspelled is refused by name."""
    assert before in HEAD
    with pytest.raises(CatalogueError, match=message):
        said(HEAD.replace(before, after))


def test_columns_that_a_select_does_not_name_are_listed() -> None:
    """The names of a select's columns are those in its text; of another text the head lists them all."""
    assert catalogue.reads("from (select a, b.c, 1 as d from b) union all from b").columns == ("a", "c", "d")
    assert catalogue.reads("select a, b.* from b").columns == ()
    head = "-- One row.\n--\n-- key: none\n--\n-- store_id\n-- day DATE: The day.\n"
    assert [column.name for column in said(head, "select * from b").columns] == ["store_id", "day"]


def test_nothing_is_said_twice() -> None:
    """A head does not repeat the glossary, and a name that several heads have stands in the glossary."""
    heads = {table.name: head_of(_text(table.name)) for table in catalogue.tables()}
    repeated = [
        f"{table}: {fact} of {each.name}"
        for table, head in heads.items()
        for each in head.said
        for fact in ("type", "nullable", "bounds", "meaning")
        if each.name in glossary() and None is not vars(each)[fact] == vars(glossary()[each.name])[fact]
    ]
    assert repeated == []
    names = Counter(column.name for table in catalogue.tables() for column in table.columns)
    assert sorted(name for name, count in names.items() if count > 1) == sorted(glossary())


def test_an_example_of_the_interface_is_not_called_observed() -> None:
    """A comment travels with the data: what it calls observed was seen in them, and the interface's word was not."""
    texts = {name: _text(name) for name in (table.name for table in catalogue.tables())}
    texts["glossary"] = "\n".join(f"{name}: {each.meaning}" for name, each in glossary().items())
    assert [name for name, text in texts.items() if "(observed: " in text] == []


@pytest.mark.slow
def test_reading_contracts_needs_no_slow_library() -> None:
    """A process that builds and requests nothing imports neither Pandera nor aiohttp."""
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def _text(name: str) -> str:
    schema, _, table = name.partition(".")
    return read_sql(catalogue.SQL / schema / f"{table}.sql")
