"""Compare the rows of a table in two places: by count and hash, and where these differ, by key and column.

A difference names a table, a key and a column, never a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from pipelines.literals import literals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from pipelines.warehouse.catalogue.tables import Table
    from pipelines.warehouse.release.manifest import Manifest


@dataclass(frozen=True)
class Difference:
    """The first row of a table that differs from what raw gives; `place` is where: the warehouse or the release."""

    place: str
    table: str
    key: str
    column: str

    def sentence(self) -> str:
        """Name it."""
        return f"{self.table}, {self.key}: {self.column} differs in {self.place}"


def first_difference(
    con: duckdb.DuckDBPyConnection,
    table: Table,
    place: str,
    relation: str,
    condition: str,
    leaving: AbstractSet[str] = frozenset(),
) -> Difference | None:
    """Return the first difference between `warehouse`, the reference, and a relation, among rows that meet a condition.

    The condition is about the alias `t`; columns of `leaving` are not compared.
    """
    names = [column.name for column in table.columns if column.name not in leaving]
    columns = ", ".join(
        f'cast(t."{column.name}" as varchar) as "{column.name}"'
        if column.type.startswith("ENUM")
        else f't."{column.name}"'
        for column in table.columns
        if column.name not in leaving
    )
    ours = f"(select {columns} from warehouse.{table.name} as t where {condition})"
    theirs = f"(select {columns} from {relation} as t where {condition})"
    try:
        if _hashed(con, ours) == _hashed(con, theirs):
            return None
        return Difference(place, table.name, *_located(con, table, names, ours, theirs))
    except duckdb.Error as error:
        short = str(error).partition("\n")[0]
        return Difference(place, table.name, f"which cannot be read ({short})", "everything")


def parquet_relation(table: Table, release: Path, manifest: Manifest) -> str:
    """Return the relation of a table's Parquet files of a release."""
    paths = [release / file.path for file in manifest.files if file.table == table.name]
    if not paths:
        return f"(from warehouse.{table.name} where false)"
    return f"read_parquet([{literals(paths)}], hive_partitioning = false)"


def _hashed(con: duckdb.DuckDBPyConnection, relation: str) -> tuple[object, ...] | None:
    return con.execute(f"select count(*), sum(hash(r)) from {relation} as r").fetchone()


def _located(
    con: duckdb.DuckDBPyConnection, table: Table, names: Sequence[str], ours: str, theirs: str
) -> tuple[str, str]:
    """Return the key and the column of the first difference."""
    con.execute(f"create or replace temp table only_ours as (from {ours} except all from {theirs})")
    con.execute(f"create or replace temp table only_theirs as (from {theirs} except all from {ours})")
    key = ", ".join(f'"{name}"' for name in table.key or names)
    first = con.execute(
        f"select {key} from (select {key} from only_ours union all select {key} from only_theirs) order by all limit 1"
    ).fetchone()
    if first is None:
        return "some row", "the order of its values"
    if not table.key:
        return "a row without a key", "a column"
    spoken = ", ".join(f"{name} {value}" for name, value in zip(table.key, first, strict=True))
    same = " and ".join(f'"{name}" is not distinct from ?' for name in table.key)
    rows = [con.execute(f"from {side} where {same}", list(first)).fetchall() for side in ("only_ours", "only_theirs")]
    if not rows[1]:
        return spoken, "the row, which is missing,"
    if not rows[0]:
        return spoken, "the row, which raw does not have,"
    return spoken, next(
        (name for name, one, other in zip(names, rows[0][0], rows[1][0], strict=True) if one != other), "a column"
    )
