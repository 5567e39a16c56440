"""Build the rows of a sample from raw, by the path of a full build, and compare them with the warehouse and a release.

The ids of the sample are in touched.sample (kind, id). Tables that are not built show those of `live`, the warehouse.
Rows are compared by count and hash, and where these differ, by key and column: a difference names a table, a key and a
column, never a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from pipelines.literals import literals
from pipelines.settings.kinds import WHOLE_KINDS
from pipelines.warehouse import catalogue
from pipelines.warehouse.history import create_all_versions, create_states, create_versions, find_all_runs, fold
from pipelines.warehouse.inputs import ENTITY
from pipelines.warehouse.inputs.landed import create_documents, create_observations, create_observations_view, present
from pipelines.warehouse.rows.fresh_rows import Making
from pipelines.warehouse.rows.session import lay_out
from pipelines.warehouse.rows.views import STATES
from pipelines.warehouse.storage import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from pipelines.landing import RawFiles
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


LIVE = "live"
SAMPLE = "touched.sample"


def create_sample(con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles], conditions: Mapping[str, str]) -> int:
    """Make touched.sample of the observed ids of these kinds that meet a condition about `id`; return how many."""
    con.execute(f"create or replace table {SAMPLE} (kind varchar, id bigint)")
    for kind, condition in conditions.items():
        create_observations_view(con, "touched.observed", [file.path for file in raw[kind].observations])
        con.execute(
            f"insert into {SAMPLE} select distinct kind, id from touched.observed where id is not null and {condition}"
        )
    return count_of(con.execute(f"select count(*) from {SAMPLE}"))


def build_sample(con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles], targets: Sequence[Table]) -> None:
    """Fill the tables `targets` of the attached, empty `warehouse` with the rows of touched.sample, made from raw."""
    lay_out(con)
    wanted = {table.name for table in targets}
    for table in catalogue.tables():
        if table.name not in wanted:
            con.execute(f"drop table warehouse.{table.name}")
            con.execute(f"create view warehouse.{table.name} as from {LIVE}.{table.name}")
    _fold(con, raw)
    scopes = {table.scope for table in targets}
    for kind in WHOLE_KINDS:
        if ENTITY[kind].removesuffix("_id") in scopes:
            paths = present(raw[kind].documents)
            create_documents(con, kind, paths, "warehouse.build.states")
            create_versions(con, kind, paths)
    mine = "from warehouse.build.states where kind = 'orders' and sha256 is not null"
    con.execute(f"create or replace table touched.bucket as select id as order_id {mine}")
    con.execute(f"create or replace view touched.bucket_states as {mine}")
    if "order" in scopes:
        paths = present(raw["orders"].documents)
        create_documents(con, "orders", paths, "touched.bucket_states")
        create_all_versions(con, paths)
    making = Making(con, full=True)
    for table in catalogue.tables():
        if table.name in wanted:
            making.make(table, "touched.bucket" if table.scope == "order" else None)
    making.tally.raise_if_blocked()


def _fold(con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles]) -> None:
    paths = [file.path for files in raw.values() for file in files.observations]
    loads = [load_id for files in raw.values() for load_id in files.load_ids]
    create_observations(con, "raw.observations", paths, loads, only=SAMPLE)
    create_states(con, "touched.nothing")
    fold(con, "raw.observations", "touched.nothing", "warehouse.build.states")
    find_all_runs(con)
    con.execute(f"create or replace view {STATES} as from warehouse.build.states")
