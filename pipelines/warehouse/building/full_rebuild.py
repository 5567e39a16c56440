"""Rebuild every table from raw, into a file beside the warehouse that takes its place at the end.

Orders go by bucket: a range of order ids, all documents of its orders in, its rows of every table out, nothing needed
from other buckets; memory is a bucket's. Tables that need to know what all orders say (which rule is in force) are made
by going through the buckets again, out of the tables that there are by then. Ranges rather than remainders, because
orders land roughly in the order of their ids: a range leaves most of the raw files unread, and rows that lie together
are deleted and looked up faster ever after.
"""

from __future__ import annotations

import functools
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pipelines.durable import sync
from pipelines.settings.kinds import WHOLE_KINDS
from pipelines.warehouse import catalogue, inputs, storage
from pipelines.warehouse.building.buckets import LANDED_ORDERS, buckets_of, make_bucket, spread, stages
from pipelines.warehouse.catalogue.tables import BUSINESS, CREATED, WHOLE, month_of, months_of_days, partition_of
from pipelines.warehouse.history import create_states, create_versions, find_all_runs, fold
from pipelines.warehouse.inputs.landed import (
    create_documents,
    create_notes,
    create_observations_view,
    present,
    rows_per_order,
)
from pipelines.warehouse.rows.fresh_rows import FINDINGS, Making, tie_out
from pipelines.warehouse.rows.profile import OBSERVATIONS, measured
from pipelines.warehouse.rows.session import attached_draft, lay_out, memory_bytes, remember, reopen_draft
from pipelines.warehouse.rows.views import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipelines.engines import RayCluster
    from pipelines.landing import RawFiles
    from pipelines.warehouse.building.buckets import Spread
    from pipelines.warehouse.rows.fresh_rows import CheckResult
    from pipelines.warehouse.rows.session import Memory

ROW_GROUP = 122_880  # rows that DuckDB writes together
ORDERS_PER_BUCKET = 2 * ROW_GROUP  # at most: two threads write one each
# Of DuckDB's memory, for each order, line and modifier of a bucket. Documents were typed with 290, and not with 140.
BYTES_PER_ROW = 400


def rebuild(
    con: duckdb.DuckDBPyConnection,
    file: Path,
    raw: Mapping[str, RawFiles],
    memory: Memory,
    buckets: int,
    finer: int,
    progress: Callable[[str, int, int], None],
    engine: RayCluster | None = None,
) -> list[CheckResult]:
    """Build the warehouse file from all that is landed, and return what its checks found.

    Orders go in so many `buckets`, 0 for as many as memory asks for; in `finer` times as many. They are made by
    `engine`, in this process where there is none. Raise BuildBlocked when a blocking check found anything: `file` is
    then as it was.
    """
    draft = file.with_name(file.name + ".building")
    for each in (draft, _log_of(draft)):
        each.unlink(missing_ok=True)
    try:
        draft.write_bytes(_laid_out(catalogue.tables()))
        with spread(engine, draft) if engine else nullcontext() as elsewhere, attached_draft(con, draft):
            making = Making(con, full=True)
            with measured(OBSERVATIONS):
                _fold(con, raw)
            orders = orders_per_bucket(con, raw, buckets, engine) // finer
            _make_all(making, draft, raw, max(1, orders), progress, elsewhere)
            for tie in tie_out(con):
                making.tally.add(tie)
            making.tally.raise_if_blocked()
            remember(con, memory, _parts(con), is_shown=True)
            results = making.results()
    except BaseException:
        for each in (draft, _log_of(draft)):
            each.unlink(missing_ok=True)
        raise
    # A log left beside a file that takes another's place would be replayed into it.
    _log_of(file).unlink(missing_ok=True)
    sync(file.parent)
    draft.replace(file)
    return results


@functools.lru_cache(maxsize=1)
def _laid_out(tables: tuple[catalogue.Table, ...]) -> bytes:  # noqa: ARG001 - whatever they are decides the layout
    """Return a warehouse file of empty tables, once a process: their comments take a fifth of a small build."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(":memory:", config=storage.SESSION) as con:
        file = Path(folder) / "empty.duckdb"
        with attached_draft(con, file):
            lay_out(con)
        return file.read_bytes()


def _fold(con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles]) -> None:
    create_observations_view(con, "raw.observations", [f.path for files in raw.values() for f in files.observations])
    loads = [load_id for files in raw.values() for load_id in files.load_ids]
    create_notes(con, {kind: present(files.documents) for kind, files in raw.items()}, loads)
    create_states(con, "touched.nothing")
    fold(con, "raw.observations", "touched.nothing", "warehouse.build.states")
    find_all_runs(con)
    con.execute(f"create or replace view {STATES} as from warehouse.build.states")
    columns = ", ".join(inputs.OBSERVATION)
    con.execute(
        f"insert into warehouse.build.refusals select {columns} from raw.observations "
        "where verdict in ('quarantined', 'failed')"
    )
    con.execute("create or replace view raw.refusals as from warehouse.build.refusals")
    for kind, files in raw.items():
        con.execute("insert into warehouse.build.loads select unnest(?::varchar[]), ?", [files.load_ids, kind])


def _make_all(
    making: Making,
    draft: Path,
    raw: Mapping[str, RawFiles],
    size: int,
    progress: Callable[[str, int, int], None],
    elsewhere: Spread | None,
) -> None:
    con = making.con
    for kind in WHOLE_KINDS:
        create_documents(con, kind, present(raw[kind].documents), "warehouse.build.states")
        create_versions(con, kind, present(raw[kind].documents))
    below = catalogue.downstream_of_orders()
    later = [table for table in catalogue.tables() if FINDINGS in table.depends_on]
    tables = [table for table in catalogue.tables() if table.name != FINDINGS and table not in later]
    _make_whole(making, [table for table in tables if table.name not in below])
    number_of = catalogue.stages()
    split = buckets_of(con, size)
    paths = present(raw["orders"].documents)
    for stage in stages():
        show = functools.partial(progress, stage.label)
        if elsewhere:
            elsewhere.make(making, stage, split, paths, show)
        else:
            for bucket in split:  # straight into the draft
                show(bucket.number, len(split))
                make_bucket(making, stage, bucket, paths)
                if bucket.number < len(split):
                    reopen_draft(con, draft)
            making.staged.bucket = "true"
            con.execute("drop table if exists raw.latest_orders")
        whole = [table for table in tables if table.name in below and table.scope != "order"]
        _make_whole(making, [table for table in whole if number_of[table.name] == stage.number])
    for check in catalogue.checks():
        if check.scope != "order":
            making.look(check, None)
    _make_whole(making, [catalogue.table(FINDINGS), *later])


def _make_whole(making: Making, tables: list[catalogue.Table]) -> None:
    for table in tables:
        making.make(table, None)


def orders_per_bucket(
    con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles], buckets: int, engine: RayCluster | None = None
) -> int:
    """Return how many orders go at once: in so many buckets, or, for 0, as many as fit into memory.

    Where an engine makes them, memory is that of its tasks, and no more go at once than leave work for all of it.
    """
    if buckets:
        return -(-_orders(con) // buckets)
    bytes_per_order = BYTES_PER_ROW * rows_per_order(con, present(raw["orders"].documents))
    fit = int((engine.memory_bytes if engine else memory_bytes(con)) / bytes_per_order)
    size = ORDERS_PER_BUCKET if fit >= ORDERS_PER_BUCKET else min(ROW_GROUP, fit)
    return min(size, -(-_orders(con) // engine.width())) if engine else size


def _orders(con: duckdb.DuckDBPyConnection) -> int:
    """Return how many orders have a document."""
    return storage.count_of(con.execute(f"select count(*) from warehouse.build.states where {LANDED_ORDERS}"))


def _parts(con: duckdb.DuckDBPyConnection) -> str:
    """Return a relation of every part of every table."""
    con.execute("create or replace table touched.parts (table_name varchar, month varchar)")
    con.execute(
        f"create or replace table touched.created as select distinct {month_of('created_at')} as month "
        "from warehouse.core.orders"
    )
    months = {CREATED: "from touched.created", WHOLE: f"select '{WHOLE}' as month"}
    for table in catalogue.tables():
        partition = partition_of(table)
        select = months_of_days(f"warehouse.{table.name}") if partition == BUSINESS else months[partition]
        con.execute(f"insert into touched.parts select '{table.name}', month from ({select})")
    return "touched.parts"


def _log_of(file: Path) -> Path:
    return file.with_name(file.name + ".wal")
