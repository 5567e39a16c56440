"""What DuckDB counts before Pandera looks hides nothing: every claim of every contract is found broken where it is."""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
import pytest
from pandera.errors import SchemaErrors

from pipelines.warehouse import catalogue
from pipelines.warehouse.verdicts import columns_as_declared, rows_as_declared

VALUES = {
    "VARCHAR": "'text'",
    "TIMESTAMP WITH TIME ZONE": "timestamptz '2026-11-01 10:00:00+00'",
    "TIMESTAMP": "timestamp '2026-11-01 10:00:00'",
    "DATE": "date '2026-11-01'",
    "BOOLEAN": "true",
}


def kept(kind: str, checks: list[Any]) -> str:
    """Return a value that keeps all checks of a column."""
    if kind.endswith("[]"):
        return "[]"
    given = {key: value for check in checks for key, value in check.statistics.items()}
    if "allowed_values" in given:
        return "'" + str(given["allowed_values"][0]).replace("'", "''") + "'"
    return VALUES.get(kind) or str(given.get("min_value", given.get("max_value", 1)))


def broken(kind: str, check: Any) -> str:
    """Return a value that breaks a check."""
    if check.name == "isin":
        return "'what nobody allowed'"
    least = check.name == "greater_than_or_equal_to"
    assert least or check.name == "less_than_or_equal_to", f"no value breaks {check.name} yet"
    return str(check.statistics["min_value"] - 1 if least else check.statistics["max_value"] + 1)


def relation(con: duckdb.DuckDBPyConnection, table: catalogue.Table, rows: list[dict[str, str]]) -> str:
    """Make a table of the contract's columns with these rows."""
    spelled = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
    con.execute(f"create or replace table held ({spelled})")
    values = ", ".join(f"({', '.join(row.values())})" for row in rows)
    con.execute(f"insert into held values {values}")
    return "held"


def by_pandera_alone(con: duckdb.DuckDBPyConnection, table: catalogue.Table) -> int:
    """Return how many values of `held` break the contract when Pandera looks at all of them."""
    frame = con.table("held").to_arrow_table().to_pandas(types_mapper=pd.ArrowDtype)
    try:
        table.contract.validate(frame, lazy=True)
    except SchemaErrors as error:
        return len(error.failure_cases)
    return 0


@pytest.mark.parametrize("table", catalogue.tables(), ids=lambda table: table.name)
def test_every_claim_is_held(table: catalogue.Table) -> None:
    """A row that keeps a contract passes, each value that breaks one of its claims is found, and a repeated key is."""
    columns = {str(name): column for name, column in table.contract.to_schema().columns.items()}
    types = {column.name: column.type for column in table.columns}
    good = {name: kept(types[name], column.checks) for name, column in columns.items()}
    bad = [good | {name: broken(types[name], each)} for name, column in columns.items() for each in column.checks]
    bad += [good | {name: "null"} for name, column in columns.items() if not column.nullable]
    bad += [good | {name: "'nan'"} for name, column in columns.items() if types[name] == "DOUBLE" and column.checks]
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("set timezone = 'UTC'")
        contract, key = rows_as_declared(con, table, relation(con, table, [good]), 1)
        assert (contract.violations, key.violations) == (0, 0)
        contract, _ = rows_as_declared(con, table, relation(con, table, bad), len(bad))
        assert contract.violations == by_pandera_alone(con, table) >= len(bad)
        contract, key = rows_as_declared(con, table, relation(con, table, [good, good]), 2)
        assert (contract.violations, key.violations) == (0, 1 if table.key else 0)


def test_a_select_is_held_to_its_columns() -> None:
    """A select of other columns than declared is found out each time, and one that was right is asked once."""
    table = catalogue.table("core.store_menus")
    spelled = ", ".join(f'null::{column.type} as "{column.name}"' for column in table.columns)
    right = catalogue.Table(table.name, f"select {spelled}", table.contract, table.reads)
    wrong = catalogue.Table(table.name, f"select {spelled}, 1 as more", table.contract, table.reads)
    with duckdb.connect() as con:
        assert [columns_as_declared(con, each).violations for each in (right, wrong, right, wrong)] == [0, 1, 0, 1]
