"""Hold rows to what is claimed of them: the contract of their table, its key, and the selects of sql/checks/.

A contract sees only the key and the columns that it tests, so that a failure can carry no text; what is reported of a
failed row is its key. Knows nothing of which rows are fresh, or of what a failure leads to.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandera.errors import SchemaErrors

from pipelines.warehouse.catalogue import contract_check, key_check
from pipelines.warehouse.results import SAMPLE, CheckResult

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.catalogue import Check, Table
    from pipelines.warehouse.contracts.contract import Contract

ROWS_AT_A_TIME = 200_000
FINDING = {
    "entity_id": "BIGINT",
    "place": "VARCHAR",
    "residual": "DECIMAL(38,4)",
    "detail": "VARCHAR",
}


def has_declared_columns(con: duckdb.DuckDBPyConnection, table: Table) -> CheckResult:
    """Compare the columns of a table's select with the contract's: names, types and order."""
    found = [(row[0], row[1]) for row in con.execute(f"describe {table.sql}").fetchall()]
    declared = [(column.name, column.type) for column in table.columns]
    wrong = [
        {"column": name, "declared": dict(declared).get(name), "found": dict(found).get(name)}
        for name in dict(declared + found)
        if dict(declared).get(name) != dict(found).get(name)
    ]
    if not wrong and found != declared:
        wrong = [{"columns": "in another order than declared"}]
    claim = contract_check(table)
    return CheckResult(claim.name, table.name, claim.severity, len(wrong), wrong[:SAMPLE])


def keeps_its_contract(con: duckdb.DuckDBPyConnection, table: Table, relation: str) -> CheckResult:
    """Validate the rows of a relation, some at a time, by the table's Pandera model.

    Nulls are counted by DuckDB first: a column of which nothing but their absence is claimed goes to Pandera only
    where there are some.
    """
    claim = contract_check(table)
    columns = _tested(table.contract, table.key)
    filled = _filled(con, _never_null(table.contract), relation)
    columns = tuple(column for column in columns if column in table.key or column not in filled)
    if set(columns) <= filled:
        return CheckResult(claim.name, table.name, claim.severity, 0)
    schema = table.contract.to_schema().select_columns(list(columns))
    spelled = ", ".join(f'"{column}"' for column in columns)
    violations, sample = 0, []
    reader = con.sql(f"select {spelled} from {relation}").to_arrow_reader(ROWS_AT_A_TIME)
    for batch in reader:
        frame = batch.to_pandas(types_mapper=pd.ArrowDtype)
        try:
            schema.validate(frame, lazy=True)
        except SchemaErrors as error:
            cases = error.failure_cases
            violations += len(cases)
            sample += [_place(table, frame, case) for case in cases.head(SAMPLE).to_dict("records")]
    return CheckResult(claim.name, table.name, claim.severity, violations, sample[:SAMPLE])


def has_unique_key(con: duckdb.DuckDBPyConnection, table: Table, relation: str) -> CheckResult:
    """Count the keys that stand in a relation more than once; a null equals a null."""
    claim = key_check(table)
    if not table.key:
        return CheckResult(claim.name, table.name, claim.severity, 0)
    key = ", ".join(f'"{column}"' for column in table.key)
    repeated = f"select {key} from {relation} group by all having count(*) > 1"
    row = con.execute(f"select count(*) from ({repeated})").fetchone()
    violations = int(row[0]) if row else 0
    sample = _rows(con, f"select * from ({repeated}) limit {SAMPLE}") if violations else []
    return CheckResult(claim.name, table.name, claim.severity, violations, sample)


def create_violations(con: duckdb.DuckDBPyConnection, check: Check, into: str) -> CheckResult:
    """Make `into` the violations that a check selects, and count them."""
    found = [row[0] for row in con.execute(f"describe {check.sql}").fetchall()]
    spelled = ", ".join(
        f"cast({column if column in found else 'null'} as {kind}) as {column}" for column, kind in FINDING.items()
    )
    con.execute(f"create or replace table {into} as select {spelled} from ({check.sql}\n) as violations")
    return violations_of(con, check, into)


def violations_of(con: duckdb.DuckDBPyConnection, check: Check, relation: str) -> CheckResult:
    """Count violations that were selected before."""
    row = con.execute(f"select count(*) from {relation}").fetchone()
    violations = int(row[0]) if row else 0
    sample = (
        _rows(con, f"select {', '.join(FINDING)} from {relation} order by all limit {SAMPLE}") if violations else []
    )
    return CheckResult(check.name, check.table, check.severity, violations, sample)


@functools.cache
def _tested(contract: type[Contract], key: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that the contract says something about, and those that name a row."""
    columns = contract.to_schema().columns
    tested = {name for name, each in columns.items() if each.checks or not each.nullable}
    return tuple(name for name in columns if name in tested | set(key)) if tested else ()


@functools.cache
def _never_null(contract: type[Contract]) -> tuple[str, ...]:
    """Return the columns of which the contract says that they are never null, and nothing else."""
    columns = contract.to_schema().columns
    return tuple(name for name, each in columns.items() if not each.nullable and not each.checks)


def _filled(con: duckdb.DuckDBPyConnection, columns: tuple[str, ...], relation: str) -> frozenset[str]:
    """Return those of the columns that hold no null."""
    if not columns:
        return frozenset()
    nulls = ", ".join(f'count(*) - count("{column}")' for column in columns)
    # all rows: DuckDB 2.0 reads no other result while one is not fetched to its end
    (counts,) = con.execute(f"select {nulls} from {relation}").fetchall()
    return frozenset(name for name, count in zip(columns, counts, strict=True) if not count)


def _place(table: Table, frame: pd.DataFrame, case: dict[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = {"column": case["column"], "check": str(case["check"])}
    if case["index"] is not None and not pd.isna(case["index"]):
        row = frame.iloc[int(case["index"])]
        place = {name: None if _is_null(row[name]) else _plain(row[name]) for name in table.key} | place
    return place


def _is_null(value: Any) -> bool:
    return not isinstance(value, list) and bool(pd.isna(value))


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = con.execute(sql)
    names = [each[0] for each in cursor.description or ()]
    return [{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in cursor.fetchall()]


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | str | bool) else str(value)
