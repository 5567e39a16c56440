"""Build the rows of a sample from raw, by the path of a full build, into a database of their own.

The ids of the sample are in touched.sample (kind, id). Tables that are not built show those of `live`, the warehouse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.settings.kinds import WHOLE_KINDS
from pipelines.warehouse import catalogue
from pipelines.warehouse.history.states import create_states, fold
from pipelines.warehouse.history.versions import create_all_versions, create_versions, find_all_runs
from pipelines.warehouse.inputs import ENTITY
from pipelines.warehouse.inputs.landed import (
    create_documents,
    create_observations,
    create_observations_view,
    present,
)
from pipelines.warehouse.rows.making import Making
from pipelines.warehouse.rows.session import lay_out
from pipelines.warehouse.rows.views import STATES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from pipelines.landing import RawFiles
    from pipelines.warehouse.catalogue.tables import Table

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
    row = con.execute(f"select count(*) from {SAMPLE}").fetchone()
    return int(row[0]) if row else 0


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
