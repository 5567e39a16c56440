"""The acts of closing as relations of schema raw: which days are sealed, with which orders, what was restated since.

Rows are read where they lie in the ledger, after their hash was compared: a build of anything else is refused. Knows
nothing of how a day is closed, or of what tables make of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.ledger import Seals, ledger_of
from pipelines.ledger.closing import CLOSED, POSTED_ACT, REOPENED, RESTATED, RESTATED_ACT, SEALED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import duckdb

    from pipelines.ledger import Entry


_TYPES: dict[pa.DataType, str] = {
    pa.int64(): "BIGINT",
    pa.string(): "VARCHAR",
    pa.date32(): "DATE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.decimal128(18, 4): "DECIMAL(18,4)",
    pa.decimal128(38, 4): "DECIMAL(38,4)",
    pa.list_(pa.int64()): "BIGINT[]",
}
_SEALED_COLUMNS = {"close_entry_no": "BIGINT", **{each.name: _TYPES[each.type] for each in SEALED}}
_RESTATED_COLUMNS = {"restated_no": "BIGINT", **{each.name: _TYPES[each.type] for each in RESTATED}}
COLUMNS: dict[str, dict[str, str]] = {
    "raw.day_closes": {
        "business_date": "DATE",
        "store_id": "BIGINT",
        "is_every_store": "BOOLEAN",
        "close_entry_no": "BIGINT",
        "closed_at": "TIMESTAMP WITH TIME ZONE",
    },
    "raw.closed_orders": _SEALED_COLUMNS,
    "raw.closed_rules": {
        "close_entry_no": "BIGINT",
        "rule_target": "VARCHAR",
        "scope": "VARCHAR",
        "scope_value": "VARCHAR",
        "rule": "VARCHAR",
        "basis": "VARCHAR",
    },
    "raw.restated": {**_RESTATED_COLUMNS, "posted_period": "VARCHAR"},
}


def state_of(*acts: str) -> Callable[[Path], str]:
    """Return the function that tells the last act of these names, by its hash."""

    def state(data_dir: Path) -> str:
        last = ""
        for entry in ledger_of(data_dir).entries():
            if entry.act in acts:
                last = entry.sha256
        return last

    return state


SEALS_STATE = state_of(CLOSED, REOPENED)
SEALED_STATE = state_of(CLOSED)
RESTATED_STATE = state_of(RESTATED_ACT, POSTED_ACT)


def create_day_seals(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.day_closes."""
    seals = Seals(ledger_of(data_dir).entries())
    found = list(seals.rows())
    if not found:
        return
    rows = pa.table(
        {
            "business_date": pa.array([each.day for each in found], pa.date32()),
            "store_id": pa.array([each.store_id for each in found], pa.int64()),
            "is_every_store": pa.array([each.is_every_store for each in found], pa.bool_()),
            "close_entry_no": pa.array([each.close_entry_no for each in found], pa.int64()),
            "closed_at": pa.array(
                [None if each.close_entry_no is None else seals.closed[each.close_entry_no].moment for each in found],
                pa.timestamp("us", tz="UTC"),
            ),
        }
    )
    con.from_arrow(rows).insert_into(name)


def create_sealed_orders(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Make raw.closed_orders a view of the sealed files: millions of rows are not copied for every build."""
    if files := _files(data_dir, CLOSED):
        columns = ", ".join(_SEALED_COLUMNS)
        con.execute(f"drop table {name}")
        typed = ", ".join(f"null::{kind} as {column}" for column, kind in _SEALED_COLUMNS.items())
        con.execute(
            f"create or replace view {name} as select {columns} from ("
            f"select {typed} where false union all by name {_numbered(files, 'close_entry_no')})"
        )


def create_closed_rules(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.closed_rules from closes that recorded rules by scope, not by order."""
    basis = {"setting": "configured", "evidence": "supported"}
    rows = [
        (entry.no, rule["part"], rule["scope"], rule["scope_value"], rule["rule"], basis.get(rule["source"]))
        for entry in ledger_of(data_dir).entries(CLOSED)
        for rule in entry.body["rules"]
        if "part" in rule
    ]
    if rows:
        con.executemany(f"insert into {name} values (?, ?, ?, ?, ?, ?)", rows)


def create_restated(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.restated, each row with the period that it was posted to."""
    if not (files := _files(data_dir, RESTATED_ACT)):
        return
    posted = "select null::bigint as number, null::varchar as posted_period limit 0"
    if posts := _files(data_dir, POSTED_ACT):
        periods = ", ".join(f"({entry.no}, {_text(entry.body['period'])})" for entry, _ in posts)
        posted = f"""
            select numbers.number, periods.posted_period
            from ({_numbered(posts, "act_no")}) as numbers
            inner join (values {periods}) as periods (act_no, posted_period) on numbers.act_no = periods.act_no
            """
    columns = ", ".join(_RESTATED_COLUMNS)
    theirs = ", ".join(f"restated.{column}" for column in _RESTATED_COLUMNS)
    con.execute(
        f"""
        insert into {name} ({columns}, posted_period)
        select {theirs}, posted.posted_period
        from ({_numbered(files, "restated_no")}) as restated
        left join ({posted}) as posted on restated.number = posted.number
        """
    )


def _files(data_dir: Path, act: str) -> list[tuple[Entry, Path]]:
    ledger = ledger_of(data_dir)
    return [(entry, ledger.file(entry)) for entry in ledger.entries(act)]


def _numbered(files: list[tuple[Entry, Path]], column: str) -> str:
    """Return a select of the rows of sealed files, with the number of their act, which their names start with."""
    paths = ", ".join(_text(str(path)) for _, path in files)
    return (
        f"select *, cast(split_part(parse_filename(filename), '-', 1) as bigint) as {column} "
        f"from read_parquet([{paths}], filename = true, union_by_name = true)"
    )


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
