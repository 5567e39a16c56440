"""Statements imported into a real ledger, and matched by the SQL of a build with orders that are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from pipelines.ledger import Ledger
from pipelines.settlements.importing import import_bank, import_statements
from pipelines.settlements.mapping import read_mapping
from pipelines.warehouse import catalogue
from pipelines.warehouse.inputs import zones
from pipelines.warehouse.inputs.relations import create
from pipelines.warehouse.inputs.sources import SOURCES
from pipelines.warehouse.rows.fresh_rows import rows_as_declared, typed
from pipelines.warehouse.rows.session import create_functions
from tests.settlements.statements import NAMES, ZONES, World, world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES = (
    "workings.settlement_rows",
    "workings.settlement_pairs",
    "mart.settlement_lines",
    "mart.settlement_matches",
    "mart.settlement_statements",
    "mart.payouts",
    "mart.order_settlements",
    "workings.settlement_commissions",
    "mart.settlement_rates",
    "workings.settlement_keys",
    "audit.settlement_breaks",
)
RELATIONS = [name for name in SOURCES if name.startswith(("raw.settlement", "raw.bank"))]


class Books:
    """A data folder with a ledger; its tables are made of given orders."""

    def __init__(self, folder: Path, orders: list[dict[str, Any]]) -> None:
        self.folder, self.data, self.orders = folder, folder / "data", orders
        self.ledger = Ledger(self.data / "ledger")

    def statement(self, name: str, mapping: str, **options: Any) -> Any:
        """Import a file, or the folder if the name is empty."""
        return import_statements(
            self.ledger, self.folder / name, read_mapping(self.folder / f"{mapping}.toml"), **options
        )

    def bank(self, name: str, mapping: str, **options: Any) -> Any:
        """Import a bank's file."""
        return import_bank(self.ledger, self.folder / name, read_mapping(self.folder / f"{mapping}.toml"), **options)

    def build(self, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Make the tables of given orders."""
        self.prepare(con)
        self.make(con)
        return con

    def prepare(self, con: duckdb.DuckDBPyConnection) -> None:
        """Give orders, stores, and the relations of the ledger."""
        con.execute("set timezone = 'UTC'")
        for schema in ("raw", *catalogue.SCHEMAS):
            con.execute(f"create schema if not exists {schema}")
        create_functions(con)
        for name in RELATIONS:
            create(con, name)
            SOURCES[name].create(con, name, self.data)
        create(con, "raw.break_decisions")
        SOURCES["raw.break_decisions"].create(con, "raw.break_decisions", self.data)
        create(con, "raw.zone_offsets")
        con.from_arrow(zones.zone_offsets()).insert_into("raw.zone_offsets")
        _given(con, "mart.orders", self.orders)
        _given(con, "core.stores", [{"store_id": s, "name": NAMES[s], "timezone": z} for s, z in ZONES.items()])

    def make(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the tables, each checked against its contract."""
        for name in TABLES:
            table = catalogue.table(name)
            con.execute(f"create or replace table {name} as {typed(table)}")
            count = con.execute(f"select count(*) from {name}").fetchone()
            contract, unique = rows_as_declared(con, table, name, count[0] if count else 0)
            assert (name, contract.sample, unique.sample) == (name, [], [])


def _given(con: duckdb.DuckDBPyConnection, name: str, rows: list[dict[str, Any]]) -> None:
    columns = {column.name: column.type for column in catalogue.table(name).columns}
    con.execute(f"create or replace table {name} ({', '.join(f'{key} {kind}' for key, kind in columns.items())})")
    given = pa.Table.from_pylist(rows)
    con.register("given", given)
    con.execute(f"insert into {name} by name from given")


@pytest.fixture(scope="session")
def made() -> World:
    """Give the world of one seed."""
    return world(1)


@pytest.fixture(scope="session")
def books(made: World, tmp_path_factory: pytest.TempPathFactory) -> Books:
    """Give its ledger with every file imported."""
    folder = tmp_path_factory.mktemp("books")
    made.write(folder)
    found = Books(folder, made.orders)
    for name, mapping in (("", "dashline"), ("invoices.csv", "justly"), ("eventos.csv", "ifome"), ("", "orderly")):
        found.statement(name, mapping)
    found.bank("bank.csv", "dashline")
    found.bank("bank.csv", "justly")
    found.bank("bank.csv", "orderly")
    return found


@pytest.fixture(scope="session")
def con(books: Books) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give its tables."""
    with duckdb.connect(config={"threads": 1}) as connection:
        yield books.build(connection)
