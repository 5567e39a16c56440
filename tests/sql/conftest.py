"""Run one SQL file of sql/ on given rows, in a real DuckDB, and hold its result to its contract."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import examples
from pipelines.warehouse.evidence.verdicts import create_candidates
from pipelines.warehouse.inputs import relations, zones
from pipelines.warehouse.inputs.relations import FORMULA_CANDIDATES
from pipelines.warehouse.rows import schemas
from pipelines.warehouse.rows.fresh_rows import has_declared_columns, rows_as_declared, typed
from pipelines.warehouse.rows.session import create_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, Any]
Given = dict[str, list[Row]]
Run = Callable[[str, Given], list[Row]]

SETTINGS: Row = {
    "business_day_time": "created_at",
    "business_day_timezone": "UTC",
    "business_day_start": "00:00",
    "daypart_of_hour": ["night"] * 6 + ["day"] * 18,
    "sales_counted": [],
    "sales_excluded": [],
    "menus_product_id_scope": "global",
    "known_fields": [],
    "plaintext_fields": [],
    "privacy_customer_key": True,
    "formula_total_rule": "",
    "formula_subtotal_rule": "",
    "formula_min_distinguishing_orders": 20,
    "formula_max_violation_rate": 0.05,
    "finance_currency": "",
    "finance_duplicate_minutes": 10,
    "replaced_orders": [],
}


@functools.cache
def _warm() -> duckdb.DuckDBPyConnection:
    """Open the database of all tests of this process: schemas and functions take as long as a test."""
    connection = duckdb.connect(config={"threads": 1})
    for schema in ("raw", *catalogue.SCHEMAS):
        connection.execute(f"create schema if not exists {schema}")
    create_functions(connection)
    return connection


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with the schemas of a build, in UTC, and no table of another test."""
    connection = _warm()
    connection.execute("set timezone = 'UTC'")
    yield connection
    made = connection.execute(
        "select 'view', schema_name, view_name from duckdb_views() where not internal union all "
        "select 'table', schema_name, table_name from duckdb_tables()"
    ).fetchall()
    for kind, schema, name in made:
        if f"{schema}.{name}" not in FORMULA_CANDIDATES:
            connection.execute(f'drop {kind} "{schema}"."{name}"')


@pytest.fixture
def run_table(con: duckdb.DuckDBPyConnection) -> Run:
    """Give `run_table("core.orders", {"raw.latest_orders": [{…}]})`: the rows, sorted by the table's key.

    A given row may leave out columns: they are null. A document is a dict in the canonical form. raw.settings has the
    defaults unless given, raw.zone_offsets the real zones. The result was checked against the contract: names, types,
    order, nullability and checks.
    """

    def run(name: str, given: Given) -> list[Row]:
        table = catalogue.table(name)
        _fill(con, table.depends_on, given)
        con.execute(f"create or replace table made as {typed(table)}")
        assert has_declared_columns(con, table, table.sql).sample == []
        assert has_declared_columns(con, table, "from made").sample == []
        relation = con.table("made")
        rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        contract, unique = rows_as_declared(con, table, "made", len(rows))
        assert (contract.sample, unique.sample) == ([], [])
        key = table.key or relation.columns
        return sorted(rows, key=lambda row: tuple((row[part] is None, row[part]) for part in key))

    return run


@pytest.fixture
def run_example(con: duckdb.DuckDBPyConnection) -> Run:
    """Give `run_example("price_variances", {"mart.orders": [{…}], …})`: the rows, in the query's order."""

    def run(name: str, given: Given) -> list[Row]:
        (example,) = (each for each in examples() if each.name == name)
        _fill(con, example.tables, given)
        relation = con.sql(example.sql)
        return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]

    return run


@pytest.fixture
def run_check(con: duckdb.DuckDBPyConnection) -> Run:
    """Give `run_check("core.order_lines__belong_to_an_order", {…})`: the violations, sorted."""

    def run(name: str, given: Given) -> list[Row]:
        check = catalogue.check(name)
        _fill(con, check.depends_on, given)
        relation = con.sql(check.sql)
        rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        if check.is_by_row:
            assert _by_pandera(con, check) == len(rows)
        return sorted(rows, key=repr)

    return run


def _by_pandera(con: duckdb.DuckDBPyConnection, check: catalogue.Check) -> int:
    """Return how many rows of its table break a claim about single rows, as its check of Pandera has it."""
    context = schemas.ValidationContext(lambda: con, check.table)
    schemas.hold(
        con.sql(f"from {check.table}").to_arrow_table().to_pandas(types_mapper=pd.ArrowDtype), [check], context
    )
    return sum(len(found) for _, found in context.broken)


@functools.cache
def _create_candidates(con: duckdb.DuckDBPyConnection) -> None:
    """Make what no test alters once for a database."""
    create_candidates(con)


def _fill(con: duckdb.DuckDBPyConnection, names: tuple[str, ...], given: Given) -> None:
    if unread := given.keys() - set(names):
        raise KeyError(f"the select does not read {sorted(unread)}")
    if any(name in FORMULA_CANDIDATES for name in names):
        _create_candidates(con)
    for name in names:
        if name in FORMULA_CANDIDATES:
            continue
        columns = relations.RAW.get(name) or {column.name: column.type for column in catalogue.table(name).columns}
        spelled = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        con.execute(f"create or replace table {name} ({spelled})")
        if name == "raw.zone_offsets" and name not in given:
            con.from_arrow(zones.zone_offsets()).insert_into(name)
            continue
        rows = given.get(name, [{}] if name == "raw.settings" else [])
        for row in rows:
            _insert(con, name, (SETTINGS | row) if name == "raw.settings" else row)


def _insert(con: duckdb.DuckDBPyConnection, name: str, row: Row) -> None:
    marks, values = [], []
    personal = row.get("changed_personal")
    row = {column: value for column, value in row.items() if column != "changed_personal" or "before" not in row}
    for column, value in row.items():
        if column == "document":
            kind = name.removeprefix("raw.latest_").removeprefix("raw.").replace("_versions", "s")
            marks.append(f"from_json(?, '{relations.structure(relations.DOCUMENTS[kind])}')")
            values.append(json.dumps(value))
        elif name == "raw.order_edits" and column in {"before", "after"}:
            marks.append(f"from_json(?, '{relations.structure(relations.CONTENT)}')")
            values.append(json.dumps({"items": [], "deliveries": []} | value))
        else:
            marks.append("?")
            values.append(value)
    names = ", ".join(f'"{column}"' for column in row)
    con.execute(f"insert into {name} ({names}) values ({', '.join(marks)})", values)
    if name == "raw.order_edits":
        changes = relations.changes("before", "after", "cast(? as varchar[])")
        con.execute(f"update {name} set changes = {changes} where changes is null", [personal])
