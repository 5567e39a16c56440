"""Validate by Pandera the columns of rows that DuckDB found doubtful, so that a failure says which and where.

The schema is made from the contract: columns exactly as declared, in that order, never coerced. Importing this takes a
second, for Pandera.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
from pandera.errors import SchemaErrors

from pipelines.warehouse.catalogue.tables import contract_check
from pipelines.warehouse.contracts import ARROW_TYPES
from pipelines.warehouse.rows.fresh_rows import SAMPLE, CheckResult, as_texts, plain

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.catalogue.tables import Table
    from pipelines.warehouse.contracts import Column, Contract


def schema_of(contract: Contract) -> pandera.DataFrameSchema:
    """Return the schema that rows of a table are validated by."""
    columns = {
        column.name: pandera.Column(
            pd.ArrowDtype(pa.string() if column.words else ARROW_TYPES[column.type]),
            _checks(column),
            nullable=column.nullable,
        )
        for column in contract.columns
    }
    return pandera.DataFrameSchema(columns, strict=True, ordered=True)


def _checks(column: Column) -> list[pandera.Check]:
    least = [] if column.least is None else [pandera.Check.ge(column.least)]
    most = [] if column.most is None else [pandera.Check.le(column.most)]
    return [*least, *most, *([pandera.Check.isin(column.words)] if column.words else [])]


ROWS_AT_A_TIME = 200_000


def judged(con: duckdb.DuckDBPyConnection, table: Table, relation: str, columns: tuple[str, ...]) -> CheckResult:
    """Validate some columns of a relation by the Pandera schema of its contract, some rows at a time."""
    claim = contract_check(table)
    schema = schema_of(table)
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
        found = {name: row[name] for name in table.key}
        is_null = {name: not isinstance(value, list) and bool(pd.isna(value)) for name, value in found.items()}
        place = {name: None if is_null[name] else plain(value) for name, value in found.items()} | place
    return place
