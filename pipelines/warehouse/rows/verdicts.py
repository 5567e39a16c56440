"""Check rows against the claims about them: the contract of their table, its key, and the selects of sql/checks/.

DuckDB counts first, in one select a table, the rows of which a claim of the contract does not plainly hold, and the
keys that repeat. Only columns with such rows go to Pandera, which validates them, with the key, so that a failure can
carry no text; the report names the key of a failed row. Words that a contract lists are held by the column's type; a
select may give them as texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.warehouse.catalogue.enums import may_become
from pipelines.warehouse.catalogue.tables import contract_check, key_check
from pipelines.warehouse.rows.results import SAMPLE, CheckResult, plain

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.catalogue.tables import Check, Table
    from pipelines.warehouse.contracts.contract import Column

FINDING = {
    "entity_id": "BIGINT",
    "location": "VARCHAR",
    "residual": "DECIMAL(38,4)",
    "detail": "VARCHAR",
}
_FOUND_RIGHT: set[tuple[str, str, tuple[Column, ...]]] = set()


def columns_as_declared(con: duckdb.DuckDBPyConnection, table: Table) -> CheckResult:
    """Compare the columns of a table's select with the contract's, before anything is made of it.

    They follow from the select and the types of its inputs, which do not change while this process runs: a select
    that was found right is not bound again.
    """
    select = (table.name, table.sql, table.columns)
    if select in _FOUND_RIGHT:
        return _clean(contract_check(table))
    result = has_declared_columns(con, table, table.sql)
    if not result.violations:
        _FOUND_RIGHT.add(select)
    return result


def has_declared_columns(con: duckdb.DuckDBPyConnection, table: Table, select: str) -> CheckResult:
    """Compare the columns of a select with those of a table's contract: names, types and order."""
    declared = [(column.name, column.type) for column in table.columns]
    types = dict(declared)
    made = con.sql(select)  # a relation, which is planned and not run
    found = [
        (name, types[name] if may_become(kind, types.get(name, "")) else kind)
        for name, kind in zip(made.columns, map(str, made.types), strict=True)
    ]
    wrong = [
        {"column": name, "declared": dict(declared).get(name), "found": dict(found).get(name)}
        for name in dict(declared + found)
        if dict(declared).get(name) != dict(found).get(name)
    ]
    if not wrong and found != declared:
        wrong = [{"columns": "in another order than declared"}]
    claim = contract_check(table)
    return CheckResult(claim.name, table.name, claim.severity, len(wrong), wrong[:SAMPLE])


def rows_as_declared(
    con: duckdb.DuckDBPyConnection, table: Table, relation: str, rows: int, *, typed: bool = True
) -> tuple[CheckResult, CheckResult]:
    """Hold a relation of so many rows to the table's contract and to its key, where a null equals a null.

    Not `typed` is a relation whose words are texts, so that one may be there which the contract does not list.
    """
    contract, key = contract_check(table), key_check(table)
    if not rows:
        return _clean(contract), _clean(key)
    spelled = ", ".join(f'"{column}"' for column in table.key)
    repeated = f"select {spelled} from {relation} group by all having count(*) > 1" if table.key else ""
    doubts = _doubts(table, typed=typed)
    counts = [*doubts.values(), f"(select count(*) from ({repeated}))" if repeated else "0"]
    # all rows: DuckDB 2.0 reads no other result while one is not fetched to its end
    ((*doubtful, repeats),) = con.execute(f"select {', '.join(counts)} from {relation}").fetchall()
    columns = tuple(column for column, count in zip(doubts, doubtful, strict=True) if count)
    return (
        _judged(con, table, relation, columns) if columns else _clean(contract),
        CheckResult(
            key.name,
            table.name,
            key.severity,
            int(repeats),
            _rows(con, f"select * from ({repeated}) limit {SAMPLE}") if repeats else [],
        ),
    )


def _judged(con: duckdb.DuckDBPyConnection, table: Table, relation: str, columns: tuple[str, ...]) -> CheckResult:
    from pipelines.warehouse.rows.judging import judged  # noqa: PLC0415 -- slow, and needed where rows are in doubt

    return judged(con, table, relation, columns)


def violations(check: Check) -> str:
    """Return the relation of the violations that a check selects; columns that it leaves out are null."""
    spelled = ", ".join(f"cast({column} as {kind}) as {column}" for column, kind in FINDING.items())
    absent = ", ".join(f"null as {column}" for column in FINDING)
    return f"(select {spelled} from (select {absent} where false union all by name ({check.sql}\n)))"


def found_in(con: duckdb.DuckDBPyConnection, check: Check, relation: str, count: int) -> CheckResult:
    """Return the result of a check that found so many violations, with the first of them out of a relation."""
    sample = _rows(con, f"select {', '.join(FINDING)} from {relation} order by all limit {SAMPLE}") if count else []
    return CheckResult(check.name, check.table, check.severity, count, sample)


def _clean(claim: Check) -> CheckResult:
    return CheckResult(claim.name, claim.table, claim.severity, 0)


def _doubts(table: Table, *, typed: bool) -> dict[str, str]:
    """Return, for each column of which the contract claims something, the count of rows that may not keep it."""
    conditions = {column.name: column.doubt(typed=typed) for column in table.columns}
    return {name: f"count(*) filter (where {condition})" for name, condition in conditions.items() if condition}


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = con.execute(sql)
    names = [each[0] for each in cursor.description or ()]
    return [{name: plain(value) for name, value in zip(names, row, strict=True)} for row in cursor.fetchall()]
