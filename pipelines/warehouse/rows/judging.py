"""Validate by Pandera the columns of rows that DuckDB found doubtful, so that a failure says which and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from pandera.errors import SchemaErrors

from pipelines.warehouse.catalogue.enums import as_texts
from pipelines.warehouse.catalogue.tables import contract_check
from pipelines.warehouse.contracts.schema import schema_of
from pipelines.warehouse.rows.results import SAMPLE, CheckResult, plain

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.catalogue.tables import Table

ROWS_AT_A_TIME = 200_000


def judged(con: duckdb.DuckDBPyConnection, table: Table, relation: str, columns: tuple[str, ...]) -> CheckResult:
    """Validate some columns of a relation by the Pandera schema of its contract, some rows at a time."""
    claim = contract_check(table)
    schema = schema_of(table.contract)
    shown = [column for column in schema.columns if column in {*columns, *table.key}]
    schema = schema.select_columns(shown)
    violations, sample = 0, []
    reader = con.sql(f"select {as_texts(table, shown)} from {relation}").to_arrow_reader(ROWS_AT_A_TIME)
    for batch in reader:
        frame = batch.to_pandas(types_mapper=pd.ArrowDtype)
        try:
            schema.validate(frame, lazy=True)
        except SchemaErrors as error:
            cases = error.failure_cases
            violations += len(cases)
            sample += [_place(table, frame, case) for case in cases.head(SAMPLE).to_dict("records")]
    return CheckResult(claim.name, table.name, claim.severity, violations, sample[:SAMPLE])


def _place(table: Table, frame: pd.DataFrame, case: dict[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = {"column": case["column"], "check": str(case["check"])}
    if not pd.isna(case["index"]):
        row = frame.iloc[int(case["index"])]
        place = {name: None if _is_null(row[name]) else plain(row[name]) for name in table.key} | place
    return place


def _is_null(value: Any) -> bool:
    return not isinstance(value, list) and bool(pd.isna(value))
