"""The stored warehouse: its file, and its facts about orders, as plain values for the planner.

A damaged file is told from other trouble and set aside, so that it is rebuilt from raw. Before a build, the disk must
have room for it and for its release.
"""

from __future__ import annotations

import datetime as dt
import shutil
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import DiskFullError
from pipelines.inbox.planner import KnownOrder
from pipelines.landing.raw_folder import raw_files
from pipelines.literals import literal
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.inputs.relations import ENTITY
from pipelines.warehouse.rows.fresh_rows import results_as_stored
from pipelines.warehouse.rows.session import READ_ONLY
from pipelines.warehouse.storage import short, why_not_opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.settings import Settings
    from pipelines.warehouse.rows.fresh_rows import CheckResult


def warehouse_file(data_dir: Path) -> Path:
    """Return where the warehouse is."""
    return data_dir / "warehouse" / "warehouse.duckdb"


# What DuckDB raises on files that are cut, overwritten, or beside the log of another file.
DAMAGE = (
    duckdb.IOException,
    duckdb.CatalogException,
    duckdb.InternalException,
    duckdb.FatalException,
    duckdb.SerializationException,
)
_DISK_FULL = ("no space left", "disk full", "failed to offload")


def log_of(file: Path) -> Path:
    """Return where DuckDB logs what it has not yet written to a database file."""
    return file.with_name(file.name + ".wal")


def remove_database(file: Path) -> None:
    """Remove a database file, and its log, which would be replayed into a file that takes its place."""
    for each in (file, log_of(file)):
        each.unlink(missing_ok=True)


def unreadable(file: Path) -> str:
    """Return why DuckDB cannot read a database file; "" where it can, may not, or where there is none."""
    if not file.exists():
        return ""
    try:
        with duckdb.connect(":memory:") as con:
            con.execute(f"attach {literal(file)} as damaged {READ_ONLY}")
            con.execute("select count(*) from duckdb_tables() where database_name = 'damaged'").fetchone()
    except duckdb.Error as error:
        return "" if why_not_opened(error) else short(error)
    return ""


def is_damage(error: duckdb.Error, data_dir: Path) -> bool:
    """Tell whether an error of a build is the warehouse file's: no full disk, file in use or raw file."""
    text = str(error)
    is_disk_full = any(words in text.lower() for words in _DISK_FULL)
    is_other = is_disk_full or why_not_opened(error) or str(data_dir / "raw") in text
    return isinstance(error, DAMAGE) and not is_other


def set_aside(file: Path) -> Path:
    """Rename a damaged file, and its log; one that was set aside earlier goes."""
    for older in file.parent.glob(file.name + ".damaged-*"):
        older.unlink()
    target = file.with_name(f"{file.name}.damaged-{utc_now():%Y%m%dT%H%M%S}")
    file.rename(target)
    if log_of(file).exists():
        log_of(file).rename(log_of(target))
    return target


SPACE_OF_INCREMENT = 2  # times the warehouse file: the release's copy of it, and the pages written before the commit
SPACE_OF_FULL = 3  # times the warehouse file: the new one beside the old one, the release's copy, and its Parquet
SPACE_OF_FIRST = 12  # times the documents in data/raw, which are compressed: for a full build without a warehouse file
_MIB = 1 << 20


def needed_bytes(file: Path, documents: Iterable[Path], *, full: bool) -> int:
    """Return how much room a build and its release take; `file` is the warehouse, which may not be there yet."""
    if file.exists():
        return file.stat().st_size * (SPACE_OF_FULL if full else SPACE_OF_INCREMENT)
    return SPACE_OF_FIRST * sum(path.stat().st_size for path in documents)


def require_room(data_dir: Path, needed: int) -> None:
    """Raise DiskFullError if less than that is free below the data folder."""
    free = shutil.disk_usage(data_dir).free
    if free < needed:
        raise DiskFullError(
            f"This build and its release need about {needed // _MIB + 1:,} MiB below {data_dir}, and "
            f"{free // _MIB:,} MiB are free: nothing was built. Free some, as {data_dir}/warehouse/*.damaged-*, or "
            "lower [warehouse] keep_releases and [release] keep_nights, and run again: what was landed stays, and so "
            "does the last release"
        )


_BATCH = 10_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def known_orders(data_dir: Path) -> Iterator[KnownOrder]:
    """Yield every known order, batch by batch; none before the first build."""
    for order_id, created, checked, status, presence, archive_only in stored_rows(
        data_dir,
        """
            select
                orders.order_id, epoch_us(orders.created_at), epoch_us(states.last_checked_at), orders.status,
                case
                    when orders.is_deleted then 'deleted'
                    when states.last_verdict = 'missing' then 'not_found'
                    else 'present'
                end,
                states.last_source = 'archive',
            from core.orders as orders
            join build.states as states on states.kind = 'orders' and states.id = orders.order_id
        """,
    ):
        yield KnownOrder(order_id, _moment(created), _moment(checked), status, presence, archive_only)


def created_before(data_dir: Path, limit: dt.datetime) -> Iterator[int]:
    """Yield the orders that were created before a time; those without created_at are left out."""
    query = "select order_id from core.orders where created_at < make_timestamptz(?)"
    for (order_id,) in stored_rows(data_dir, query, [(limit - _EPOCH) // dt.timedelta(microseconds=1)]):
        yield order_id


def known_among(data_dir: Path, kind: str, ids: Iterable[int]) -> set[int]:
    """Return which of these ids are documents that the warehouse has."""
    asked = ",".join(map(str, ids))  # one text: DuckDB looks at each value of a list for one of pandas
    query = f"select {ENTITY[kind]} from core.{kind} where {ENTITY[kind]} in (select unnest(split(?, ','))::bigint)"
    return {row[0] for row in stored_rows(data_dir, query, [asked])} if asked else set()


def known_ids(data_dir: Path, kind: str) -> list[int]:
    """Return the id of every document of a kind that the warehouse has."""
    key = ENTITY[kind]
    return [row[0] for row in stored_rows(data_dir, f"select {key} from core.{kind} order by {key}")]


def stores_of_orders(data_dir: Path, since: dt.datetime) -> dict[int, int]:
    """Return how many orders created since then each store has."""
    query = """
        select store_id, count(*) from core.orders
        where created_at >= make_timestamptz(?) and store_id is not null group by store_id
    """
    return dict(stored_rows(data_dir, query, [(since - _EPOCH) // dt.timedelta(microseconds=1)]))


def newest_documents(data_dir: Path, kind: str, count: int) -> dict[int, tuple[int | None, dt.datetime | None] | None]:
    """Return the documents of a kind with the highest ids; of orders with store and creation."""
    if kind != "orders":
        return dict.fromkeys(known_ids(data_dir, kind)[-count:])
    query = """
        select order_id, store_id, epoch_us(created_at) from core.orders
        where not is_deleted order by order_id desc limit ?
    """
    return {id_: (store, _moment(created)) for id_, store, created in stored_rows(data_dir, query, [count])}


def unbuilt_loads(data_dir: Path) -> set[str]:
    """Return the loads that were landed since the last build."""
    landed = {load_id for kind in KINDS for load_id in raw_files(data_dir, kind).load_ids}
    try:
        return landed - {row[0] for row in stored_rows(data_dir, "select load_id from build.loads")}
    except duckdb.Error:
        return landed  # damaged, or of another version: the build says so


def never_found(data_dir: Path) -> set[int]:
    """Return the order ids that were asked for and never existed, as far as was seen."""
    query = "select id from build.states where kind = 'orders' and sha256 is null and last_verdict = 'missing'"
    return {row[0] for row in stored_rows(data_dir, query)}


def _moment(microseconds: int | None) -> dt.datetime | None:
    return None if microseconds is None else _EPOCH + dt.timedelta(microseconds=microseconds)


def stored_rows(data_dir: Path, query: str, values: list[Any] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that a select gives of the stored warehouse, batch by batch; none before the first build."""
    file = warehouse_file(data_dir)
    if not file.exists():
        return
    with duckdb.connect(str(file), read_only=True) as con:
        result = con.execute(query, values)
        while batch := result.fetchmany(_BATCH):
            yield from batch


def stored_results(settings: Settings) -> list[CheckResult]:
    """Return the result of every check as the last build stored it; none before the first build."""
    file = warehouse_file(settings.data_dir)
    if not file.exists():
        return []
    with duckdb.connect(":memory:") as con:
        con.execute(f"attach {literal(file)} as warehouse (read_only)")
        return results_as_stored(con)
