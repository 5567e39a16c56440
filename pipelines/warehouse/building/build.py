"""Build the warehouse: decide between nothing, an increment and everything, do it, and say why.

Nothing is done if no load is new and no source changed. A full build is due without a warehouse file, after a change
of code, settings, DuckDB or time zones, or if most orders changed. All other builds are increments.

A full build writes every table from raw into a file beside the warehouse, which then takes its place. Orders go by
bucket, a range of order ids: all documents of its orders in, its rows of every table out, and memory is a bucket's. A
table that needs to know what all orders say, such as which rule is in force, waits until they are through; then the
buckets are gone through again. Ranges are used since orders land roughly in the order of their ids: most raw files are
left unread, and rows that lie together are found faster ever after.

    1,000,000 orders in buckets of 245,760: five go through stage 0 (flattening), the evidence of all is gathered, and
    the same five go through stage 1 (reconciliation).

A sample of ids is built in the same way, to verify the warehouse: tables that it does not make show those of `live`.
A damaged warehouse file is set aside and rebuilt from raw. A build begins only if the disk has room for it and for its
release.
"""

import dataclasses
import datetime as dt
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import DiskFullError, naming_a_full_disk, sync
from pipelines.engines import RayCluster, engine_of
from pipelines.inbox.planner import KnownOrder
from pipelines.landing.data_folder import guard_source
from pipelines.landing.raw_folder import RawFiles, check_files, check_raw, raw_files
from pipelines.ledger.signed_head import sign_missing_heads
from pipelines.literals import literal
from pipelines.resources import fingerprint, keep, read_kept
from pipelines.settings import Settings
from pipelines.settings.kinds import ENTITIES, KINDS, WHOLE_KINDS
from pipelines.warehouse import catalogue, storage
from pipelines.warehouse.building.buckets import LANDED, Spread, buckets_of, make_bucket, spread, stages, take_orders
from pipelines.warehouse.catalogue.tables import CREATED, WHOLE, month_of, months_of_days, partition_of
from pipelines.warehouse.history import create_versions, fold_all
from pipelines.warehouse.increment import Applied, Progress, Raw, apply_changes, find_changes
from pipelines.warehouse.inputs import relations
from pipelines.warehouse.inputs.relations import ENTITY
from pipelines.warehouse.inputs.sources import HINTS, all_sources, create_sources, states
from pipelines.warehouse.rows import fresh_rows, session
from pipelines.warehouse.rows.fresh_rows import FINDINGS, BuildResult, CheckResult, Making
from pipelines.warehouse.rows.session import OBSERVATIONS, READ_ONLY, measure_cost
from pipelines.warehouse.storage import memory_limit, short, why_not_opened


def warehouse_file(data_dir: Path) -> Path:
    """Return where the warehouse is."""
    return data_dir / "warehouse" / "warehouse.duckdb"


# What DuckDB raises on files that are cut, overwritten, or beside the log of another file.
DAMAGE = (
    duckdb.IOException, duckdb.CatalogException, duckdb.InternalException, duckdb.FatalException,
    duckdb.SerializationException,
)  # fmt: skip
_DISK_FULL = ("no space left", "disk full", "failed to offload", "file too large")


def log_of(file: Path) -> Path:
    """Return where DuckDB logs what it has not yet written to a database file."""
    return file.with_name(file.name + ".wal")


def remove_database(file: Path) -> None:
    """Remove a database file, and its log, which would be replayed into a file that takes its place."""
    for each in (file, log_of(file)):
        each.unlink(missing_ok=True)


# An increment reads few tables: without this it would miss a block that another one lost. Of free blocks those at the
# end may be gone: DuckDB gives them back to the file system.
_SIZE_OF_USED_BLOCKS = "select block_size * used_blocks from pragma_database_size() where database_name = 'damaged'"


def unreadable(file: Path) -> str:
    """Return why DuckDB cannot read a database file; "" where it can, may not, or where there is none."""
    if not file.exists():
        return ""
    try:
        with duckdb.connect(":memory:") as con:
            con.execute(f"attach {literal(file)} as damaged {READ_ONLY}")
            con.execute("select count(*) from duckdb_tables() where database_name = 'damaged'").fetchone()
            (used,) = con.execute(_SIZE_OF_USED_BLOCKS).fetchall()[0]
    except duckdb.Error as error:
        return "" if why_not_opened(error) else short(error)
    is_cut = file.stat().st_size < used and not log_of(file).exists()
    return "it is shorter than its used blocks, so its end was cut off" if is_cut else ""


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
    query = """
        select orders.order_id, epoch_us(orders.created_at), epoch_us(states.last_checked_at), orders.status,
            case when orders.is_deleted then 'deleted' when states.last_verdict = 'missing' then 'not_found'
                else 'present' end,
            states.last_source = 'archive',
        from core.orders as orders
        join build.states as states on states.kind = 'orders' and states.id = orders.order_id
    """
    for order_id, created, checked, status, presence, archive_only in stored_rows(data_dir, query):
        yield KnownOrder(order_id, _moment(created), _moment(checked), status, presence, archive_only)


def created_before(data_dir: Path, limit: dt.datetime) -> Iterator[int]:
    """Yield the orders that were created before a time; those without created_at are left out."""
    query = "select order_id from core.orders where created_at < make_timestamptz(?)"
    yield from (row[0] for row in stored_rows(data_dir, query, [(limit - _EPOCH) // dt.timedelta(microseconds=1)]))


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
    where = "where created_at >= make_timestamptz(?) and store_id is not null"
    query = f"select store_id, count(*) from core.orders {where} group by store_id"
    return dict(stored_rows(data_dir, query, [(since - _EPOCH) // dt.timedelta(microseconds=1)]))


def newest_documents(data_dir: Path, kind: str, count: int) -> dict[int, tuple[int | None, dt.datetime | None] | None]:
    """Return the documents of a kind with the highest ids; of orders with store and creation."""
    if kind != "orders":
        return dict.fromkeys(known_ids(data_dir, kind)[-count:])
    query = "select order_id, store_id, epoch_us(created_at) from core.orders where not is_deleted"
    query += " order by order_id desc limit ?"
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
        return fresh_rows.results_as_stored(con)


_FINER = (1, 4, 16)  # in how many times as many parts a build is tried, one after the other


class MemoryLimitError(Exception):
    """The memory limit is too low for a build, even in small parts."""


def build(settings: Settings, *, full: bool = False, progress: Progress | None = None) -> BuildResult:
    """Bring core, mart and audit up to date with raw, in one commit.

    `full` rebuilds everything from raw. `progress` is called with (what, done, total). Raise BuildBlocked, with
    nothing committed, when a blocking check found anything; LandingError when data/ came from another service;
    MemoryLimitError, when memory did not suffice even for a rebuild in the smallest parts. An increment whose
    totals do not tie out is not committed, and a warehouse file that cannot be read is set aside: all tables are
    rebuilt instead, and `notes` of the result say so. RawDamageError names raw files that are not what was landed,
    DiskFullError what to free, EngineError a cluster's fault.
    """
    show = progress or (lambda _what, _done, _total: None)
    engine_of(settings)  # its fault is said first, whatever there is to build
    with naming_a_full_disk(settings.data_dir):
        guard_source(settings)
        sign_missing_heads(settings)
        check_raw(settings.data_dir, hashes=full)
        file = warehouse_file(settings.data_dir)
        try:
            if not full and (broken := unreadable(file)):
                raise duckdb.IOException(broken)
            return _build_in_parts(settings, "a full rebuild was asked for" if full else "", show)
        except fresh_rows.TiesBroken as error:
            why = f"an incremental build did not tie out ({error.named()}), so it was not committed"
            advice = "The tables are right, the incremental build is not: report it"
        except relations.MissingDocumentError:
            check_raw(settings.data_dir, hashes=True)  # names the file that it was in
            raise
        except duckdb.Error as error:
            check_raw(settings.data_dir, hashes=True)  # first: DuckDB raises the same for a raw file that is damaged
            if not file.exists() or not is_damage(error, settings.data_dir):
                raise
            why = f"the warehouse file was damaged ({short(error)})"
            advice = f"The damaged file is {set_aside(file)}"
        result = _build_in_parts(settings, why, show)
        note = f"{why[0].upper()}{why[1:]}; all tables were rebuilt from raw. {advice}."
        return dataclasses.replace(result, notes=(*result.notes, note))


def _build_in_parts(settings: Settings, why: str, show: Progress) -> BuildResult:
    """Build, in smaller parts each time that memory does not suffice."""
    for finer in _FINER:
        try:
            return _build(settings, why, finer, show)
        except duckdb.OutOfMemoryException as error:
            why = f"memory did not suffice: orders go in {4 * finer} times as many parts"
            said = short(error)
    limit, configured = memory_limit(settings), settings.warehouse.memory_limit
    if engine_of(settings):
        tasks = settings.engine.task_memory
        raise MemoryLimitError(
            f"[engine] task_memory = {tasks!r}, or [warehouse] memory_limit = {limit!r} for tables over all orders, "
            f"does not suffice; raise it. DuckDB says: {said}"
        )
    which = f"{limit!r}" if configured == limit else f"{configured!r}, here {limit},"
    raise MemoryLimitError(f"[warehouse] memory_limit = {which} does not suffice; raise it. DuckDB says: {said}")


def _build(settings: Settings, why: str, finer: int, show: Progress) -> BuildResult:
    """Build once; `why` is the reason for a full rebuild, "" if that is yet to be decided."""
    file = warehouse_file(settings.data_dir)
    raw: dict[str, RawFiles] = {kind: raw_files(settings.data_dir, kind) for kind in KINDS}
    now = session.Memory(session.fingerprint_of(settings), states(settings))
    with session.session(settings) as con:
        # Also where nothing changed: what a close recorded is compared with its hash. Deliveries may be millions.
        create_sources(con, settings, *(name for name in all_sources() if name != HINTS))
        make_hints = functools.cache(functools.partial(create_sources, con, settings, HINTS))  # once it is decided
        if not why and not file.exists():
            why = "there was no warehouse yet"
        before = None
        if file.exists():
            try:
                with session.attached(con, file):
                    before = session.remembered(con)
            except duckdb.Error:
                if not why:  # a full rebuild need not read a damaged file
                    raise
        if not why:
            with session.attached(con, file):
                done = _build_what_changed(con, settings, raw, before, now, make_hints, show)
            if isinstance(done, BuildResult):
                return done
            why = done
        make_hints()
        documents = [each.path for files in raw.values() for each in files.documents]
        require_room(settings.data_dir, needed_bytes(file, documents, full=True))
        applied = rebuild(con, file, raw, now, settings.warehouse.buckets, finer, show, engine_of(settings))
        with session.attached(con, file):
            return _result(con, applied, full=True, why=why)


def _build_what_changed(
    con: duckdb.DuckDBPyConnection,
    settings: Settings,
    raw: Raw,
    before: session.Memory | None,
    now: session.Memory,
    make_hints: Callable[[], None],
    show: Progress,
) -> BuildResult | str:
    """Build nothing or an increment, in the attached warehouse; return why all is due where neither will do."""
    if before is None:
        return "the warehouse was made by another version"
    if why := _must_be_full(con, raw, before, now):
        return why
    known = session.applied_loads(con)
    new = {kind: [each for each in files.load_ids if each not in known] for kind, files in raw.items()}
    sources = before.changed_sources(now)
    if not any(new.values()) and not sources:
        checks, why = fresh_rows.results_as_stored(con), "nothing was landed since the last build"
        return BuildResult(changed=False, full=False, why=why, rows=_rows(con), checks=checks)
    areas = [(kind, file) for kind, files in raw.items() for area in files for file in area]
    check_files(settings.data_dir, [file.path for kind, file in areas if set(file.load_ids) & set(new[kind])])
    warehouse = warehouse_file(settings.data_dir)
    require_room(settings.data_dir, needed_bytes(warehouse, (), full=False))
    session.use_few_threads(con, settings, warehouse)
    make_hints()
    if find_changes(con, raw, new):
        applied = apply_changes(con, raw, new, now, sources, show)
        return _result(con, applied, full=False, why=_how_many(con, new, sources))
    if not settings.warehouse.threads:
        con.execute("reset threads")
    return "more than half of the orders changed"


def _must_be_full(con: duckdb.DuckDBPyConnection, raw: Raw, before: session.Memory, now: session.Memory) -> str:
    """Return why an increment cannot give what a full rebuild gives, or nothing."""
    if changed := [name for name in now.fingerprint if before.fingerprint.get(name) != now.fingerprint[name]]:
        return f"{' and '.join(changed)} changed since the last build"
    in_raw = {load_id for files in raw.values() for load_id in files.load_ids}
    if session.applied_loads(con) - in_raw:
        return "loads that the warehouse holds are no longer in data/raw"
    return ""


def _how_many(con: duckdb.DuckDBPyConnection, new: Mapping[str, list[str]], sources: set[str]) -> str:
    if not any(new.values()):
        return f"nothing was landed; {', '.join(sorted(sources))} changed"
    row = con.execute("select count(*) from touched.changed_orders").fetchone()
    loads = sum(len(each) for each in new.values())
    return f"{loads} new loads changed {row[0] if row else 0} orders"


def _result(con: duckdb.DuckDBPyConnection, applied: Applied, *, full: bool, why: str) -> BuildResult:
    return BuildResult(
        changed=True,
        full=full,
        why=why,
        rows=_rows(con),
        checks=applied.results,
        changed_tables=applied.tables,
        changed_checks=applied.checks,
        validated=applied.validated,
    )


def _rows(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    selects = [f"select '{table.name}', count(*) from warehouse.{table.name}" for table in catalogue.tables()]
    counts = dict(con.execute(" union all ".join(selects)).fetchall())
    return {table.name: int(counts[table.name]) for table in catalogue.tables()}


ROW_GROUP = 122_880  # rows that DuckDB writes together
ORDERS_PER_BUCKET = 2 * ROW_GROUP  # at most: two threads write one each
# Of DuckDB's memory, for each order, line and modifier of a bucket. Documents were typed with 290, and not with 140.
BYTES_PER_ROW = 400


def rebuild(
    con: duckdb.DuckDBPyConnection,
    file: Path,
    raw: Raw,
    memory: session.Memory,
    buckets: int,
    finer: int,
    progress: Progress,
    engine: RayCluster | None = None,
) -> Applied:
    """Build the warehouse file from all that is landed, and return what its checks found.

    Orders go in so many `buckets`, 0 for as many as memory asks for; in `finer` times as many. They are made by
    `engine`, in this process where there is none. Raise BuildBlocked when a blocking check found anything: `file` is
    then as it was.
    """
    draft = file.with_name(file.name + ".building")
    remove_database(draft)
    try:
        draft.write_bytes(_laid_out(catalogue.tables()))
        with spread(engine, draft) if engine else nullcontext() as elsewhere, session.attached_draft(con, draft):
            making = Making(con, full=True)
            with measure_cost(OBSERVATIONS):
                _fold(con, raw)
            orders = orders_per_bucket(con, raw, buckets, engine) // finer
            _make_all(making, draft, raw, max(1, orders), progress, elsewhere)
            for tie in fresh_rows.tie_out(con):
                making.tally.add(tie)
            making.tally.raise_if_blocked()
            session.remember(con, memory, _parts(con), is_shown=True)
            results = making.results()
            tables = frozenset(table.name for table in catalogue.tables())
            made = Applied(results, tables, frozenset(each.name for each in results), making.tally.validated)
    except BaseException:
        remove_database(draft)
        raise
    # A log left beside a file that takes another's place would be replayed into it.
    log_of(file).unlink(missing_ok=True)
    sync(file.parent)
    draft.replace(file)
    return made


@functools.lru_cache(maxsize=1)
def _laid_out(tables: tuple[catalogue.Table, ...]) -> bytes:
    """Return a warehouse file of empty tables, kept on disk: their comments take a fifth of a small build."""
    said = repr([(table.name, table.description, table.columns) for table in tables])
    of = fingerprint(said, repr(session.code_fingerprint()))
    if kept := read_kept("layout", of):
        return kept
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(":memory:", config=storage.SESSION) as con:
        file = Path(folder) / "empty.duckdb"
        with session.attached_draft(con, file):
            session.lay_out(con, tables)
        keep("layout", of, file.read_bytes())
        return file.read_bytes()


def _fold(con: duckdb.DuckDBPyConnection, raw: Raw) -> None:
    paths = [file.path for files in raw.values() for file in files.observations]
    relations.create_observations_view(con, "raw.observations", paths)
    loads = [load_id for files in raw.values() for load_id in files.load_ids]
    relations.create_notes(con, {kind: relations.present(files.documents) for kind, files in raw.items()}, loads)
    fold_all(con)
    session.note_loads(con, {kind: files.load_ids for kind, files in raw.items()})
    con.execute("create or replace view raw.refusals as from warehouse.build.refusals")


def _make_all(making: Making, draft: Path, raw: Raw, size: int, progress: Progress, elsewhere: Spread | None) -> None:
    con = making.con
    for kind in WHOLE_KINDS:
        documents = relations.present(raw[kind].documents)
        relations.create_documents(con, kind, documents, "warehouse.build.states")
        create_versions(con, kind, documents)
    below = catalogue.downstream_of_orders()
    later = [table for table in catalogue.tables() if FINDINGS in table.depends_on]
    tables = [table for table in catalogue.tables() if table.name != FINDINGS and table not in later]
    _make_whole(making, [table for table in tables if table.name not in below])
    number_of = catalogue.stages()
    split = buckets_of(con, size)
    paths = relations.present(raw["orders"].documents)
    for stage in stages():
        doing = "building" if stage.number == 0 else "reconciling"
        show = functools.partial(progress, f"{doing} orders, by bucket")
        if elsewhere:
            elsewhere.make(making, stage, split, paths, show)
        else:
            for bucket in split:  # straight into the draft
                show(bucket.number, len(split))
                make_bucket(making, stage, bucket, paths)
                if bucket.number < len(split):
                    session.reopen_draft(con, draft)
            making.staged.bucket = "true"
            con.execute("drop table if exists raw.latest_orders")
        whole = [table for table in tables if table.name in below and table.scope != "order"]
        _make_whole(making, [table for table in whole if number_of[table.name] == stage.number])
    for check in catalogue.looks():
        if check.scope != "order":
            making.look(check, None)
    _make_whole(making, [catalogue.table(FINDINGS), *later])


def _make_whole(making: Making, tables: list[catalogue.Table]) -> None:
    for table in tables:
        making.make(table, None)


def orders_per_bucket(con: duckdb.DuckDBPyConnection, raw: Raw, buckets: int, engine: RayCluster | None = None) -> int:
    """Return how many orders go at once: in so many buckets, or, for 0, as many as fit into memory.

    Where an engine makes them, memory is that of its tasks, and no more go at once than leave work for all of it.
    """
    if buckets:
        return -(-_orders(con) // buckets)
    bytes_per_order = BYTES_PER_ROW * relations.rows_per_order(con, relations.present(raw["orders"].documents))
    fit = int((engine.memory_bytes if engine else session.memory_bytes(con)) / bytes_per_order)
    size = ORDERS_PER_BUCKET if fit >= ORDERS_PER_BUCKET else min(ROW_GROUP, fit)
    return min(size, -(-_orders(con) // engine.width())) if engine else size


def _orders(con: duckdb.DuckDBPyConnection) -> int:
    return storage.count_of(con.execute(f"select count(*) from warehouse.build.states where {LANDED}"))


def _parts(con: duckdb.DuckDBPyConnection) -> str:
    """Return a relation of every part of every table."""
    created = f"select distinct {month_of('created_at')} as month from warehouse.core.orders"
    con.execute(f"create or replace table touched.created as {created}")
    months = {CREATED: "from touched.created", WHOLE: f"select '{WHOLE}' as month"}
    selects = [
        f"select '{table.name}' as table_name, month from ({parts})"
        for table in catalogue.tables()
        for parts in [months.get(partition_of(table)) or months_of_days(f"warehouse.{table.name}")]
    ]
    con.execute(f"create or replace table touched.parts as {' union all '.join(selects)}")
    return "touched.parts"


LIVE = "live"
SAMPLE = "touched.sample"


def create_sample(con: duckdb.DuckDBPyConnection, raw: Raw, conditions: Mapping[str, str]) -> int:
    """Make touched.sample of the observed ids of these kinds that meet a condition about `id`; return how many."""
    con.execute(f"create or replace table {SAMPLE} (kind varchar, id bigint)")
    for kind, condition in conditions.items():
        relations.create_observations_view(con, "touched.observed", [file.path for file in raw[kind].observations])
        observed = f"from touched.observed where id is not null and {condition}"
        con.execute(f"insert into {SAMPLE} select distinct kind, id {observed}")
    return storage.count_of(con.execute(f"select count(*) from {SAMPLE}"))


def build_sample(con: duckdb.DuckDBPyConnection, raw: Raw, targets: Sequence[catalogue.Table]) -> None:
    """Fill the tables `targets` of the attached, empty `warehouse` with the rows of touched.sample, made from raw."""
    session.lay_out(con, targets, comments=False)
    wanted = {table.name for table in targets}
    for table in catalogue.tables():
        if table.name not in wanted:
            con.execute(f"create view warehouse.{table.name} as from {LIVE}.{table.name}")
    observations = [file.path for files in raw.values() for file in files.observations]
    loads = [load_id for files in raw.values() for load_id in files.load_ids]
    relations.create_observations(con, "raw.observations", observations, loads, only=SAMPLE)
    fold_all(con)
    scopes = {table.scope for table in targets}
    for kind in WHOLE_KINDS:
        if ENTITIES[kind] in scopes:
            paths = relations.present(raw[kind].documents)
            relations.create_documents(con, kind, paths, "warehouse.build.states")
            create_versions(con, kind, paths)
    take_orders(con, "true", relations.present(raw["orders"].documents) if "order" in scopes else None)
    making = Making(con, full=True)
    for table in catalogue.tables():
        if table.name in wanted:
            making.make(table, "touched.bucket" if table.scope == "order" else None)
    making.tally.raise_if_blocked()
