"""Every claim of every contract is found broken where it is, and nothing else is."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from pandera.errors import SchemaError

from pipelines.warehouse import catalogue
from pipelines.warehouse.rows.fresh_rows import (
    columns_as_declared,
    has_declared_columns,
    rows_as_declared,
)
from pipelines.warehouse.rows.schemas import TableSchema, ValidationContext, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def relation(
    con: duckdb.DuckDBPyConnection, table: catalogue.Table, rows: list[dict[str, str]], *, typed: bool = True
) -> str:
    """Make a table of the contract's columns with these rows; not typed: of texts where the contract lists words."""
    types = {c.name: c.type if typed or not c.words else "VARCHAR" for c in table.columns}
    spelled = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    con.execute(f"create or replace table held ({spelled})")
    values = ", ".join(f"({', '.join(row.values())})" for row in rows)
    con.execute(f"insert into held values {values}")
    return "held"


def schema(table: catalogue.Table) -> TableSchema:
    """Return the schema of a table, by itself: its columns alone."""
    return schema_of(table, ValidationContext(duckdb.connect), [])


def tables() -> Iterator[Any]:
    """Give every table with its own types, and as texts; of the latter each fifth, the others for long."""
    for number, table in enumerate(catalogue.tables()):
        yield pytest.param(table, True, id=table.name)
        yield pytest.param(table, False, id=f"{table.name}-texts", marks=[pytest.mark.long] * bool(number % 5))


@pytest.mark.slow
@pytest.mark.parametrize(("table", "typed"), [*tables()])
def test_every_claim_is_held(table: catalogue.Table, *, typed: bool) -> None:
    """A row that keeps a contract passes, each value that breaks one of its claims is found, and a repeated key is."""
    columns = {str(name): column for name, column in schema(table).columns.items()}
    types = {column.name: column.type for column in table.columns}
    words = {name for name, kind in types.items() if kind.startswith("ENUM(")}
    good = {name: kept(types[name], column.checks) for name, column in columns.items()}
    broken_ones = [(name, broken(types[name], each)) for name, column in columns.items() for each in column.checks]
    strange = [good | {name: value} for name, value in broken_ones if name in words]
    bad = [good | {name: value} for name, value in broken_ones if name not in words]
    bad += [good | {name: "null"} for name, column in columns.items() if not column.nullable]
    bad += [good | {name: "'nan'"} for name, column in columns.items() if types[name] == "DOUBLE" and column.checks]
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("set timezone = 'UTC'")
        contract, key = rows_as_declared(con, table, relation(con, table, [good], typed=typed), 1)
        assert (contract.violations, key.violations) == (0, 0)
        rows = bad if typed else bad + strange
        contract, _ = rows_as_declared(con, table, relation(con, table, rows, typed=typed), len(rows))
        assert contract.violations >= len(rows)
        contract, key = rows_as_declared(con, table, relation(con, table, [good, good]), 2)
        assert (contract.violations, key.violations) == (0, 1 if table.key else 0)
        for row in strange if typed else ():
            with pytest.raises(duckdb.ConversionException):
                relation(con, table, [row])


def test_words_sort_as_texts_do() -> None:
    """The words of every column of listed words have, as DuckDB stores them, the order that they have as texts."""
    kinds = {column.type for table in catalogue.tables() for column in table.columns if column.words}
    assert len(kinds) > 20
    with duckdb.connect() as con:
        for kind in kinds:
            ((words,),) = con.execute(f"select enum_range(null::{kind})").fetchall()
            assert words == [
                row[0] for row in con.execute("select unnest(?::varchar[]) as w order by w", [words]).fetchall()
            ]
            assert con.execute(f"describe select null::{kind} as w").fetchall()[0][1] == kind


def test_another_type_is_no_value_of_a_column() -> None:
    """A contract takes no text for a number that it could make one of."""
    table = catalogue.table("core.store_menus")
    names = [column.name for column in table.columns]
    with duckdb.connect() as con:
        spelled = ", ".join(f'1::{column.type} as "{column.name}"' for column in table.columns)
        frame = con.sql(f"select {spelled}").to_arrow_table().to_pandas(types_mapper=pd.ArrowDtype)
    schema(table).validate(frame)
    with pytest.raises(SchemaError, match=names[0]):
        schema(table).validate(frame.astype({names[0]: pd.ArrowDtype(pa.string())}))


def test_select_must_return_the_declared_columns() -> None:
    """A select of other columns than declared is found out each time, and one that was right is asked once."""
    table = catalogue.table("core.store_menus")
    spelled = ", ".join(f'null::{column.type} as "{column.name}"' for column in table.columns)
    right = dataclasses.replace(table, sql=f"select {spelled}")
    wrong = dataclasses.replace(table, sql=f"select {spelled}, 1 as more")
    with duckdb.connect() as con:
        assert [columns_as_declared(con, each).violations for each in (right, wrong, right, wrong)] == [0, 1, 0, 1]


def test_a_select_may_tell_words_as_texts() -> None:
    """Words may come as the type declared or as texts; other words than the contract's are another type."""
    table = catalogue.table("mart.daily_store_sales")
    types = {column.name: column.type for column in table.columns}
    found = []
    with duckdb.connect() as con:
        for kind in (types["sale_class"], "VARCHAR", "ENUM('sold', 'unsold')", "BIGINT"):
            spelled = ", ".join(f'null::{each} as "{name}"' for name, each in (types | {"sale_class": kind}).items())
            found.append(has_declared_columns(con, table, f"select {spelled}").violations)
    assert found == [0, 0, 1, 1]
