"""Build the warehouse: decide between nothing, an increment and everything, do it, and say why.

A damaged warehouse file is told from other trouble and set aside, so that it is rebuilt from raw. Before a build, the
disk must have room for it and for its release.
"""

from __future__ import annotations

import dataclasses
import shutil
from typing import TYPE_CHECKING

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import DiskFullError, naming_a_full_disk
from pipelines.engines import engine_of
from pipelines.landing import guard_source, raw_files
from pipelines.landing.raw_files import check_files, check_raw
from pipelines.ledger.signed_head import sign_missing_heads
from pipelines.literals import literal
from pipelines.settings.kinds import KINDS
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.full_rebuild import rebuild
from pipelines.warehouse.increment import Applied, apply_changes, find_changes
from pipelines.warehouse.inputs.landed import MissingDocumentError
from pipelines.warehouse.inputs.sources import create_sources, states
from pipelines.warehouse.rows.fresh_rows import BuildResult, TiesBroken, results_as_stored
from pipelines.warehouse.rows.session import (
    READ_ONLY,
    Memory,
    attached,
    fingerprint_of,
    remembered,
    session,
    use_all_threads,
    use_few_threads,
)
from pipelines.warehouse.storage import memory_limit, why_not_opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pipelines.landing import RawFiles
    from pipelines.settings import Settings

_SPREADS = (1, 4, 16)  # in how many times as many parts a build is tried, one after the other


class MemoryLimitError(Exception):
    """The memory limit is too low for a build, even in small parts."""


def warehouse_file(data_dir: Path) -> Path:
    """Return where the warehouse is."""
    return data_dir / "warehouse" / "warehouse.duckdb"


def build(
    settings: Settings, *, full: bool = False, progress: Callable[[str, int, int], None] | None = None
) -> BuildResult:
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
        except TiesBroken as error:
            why = f"an incremental build did not tie out ({error.named()}), so it was not committed"
            advice = "The tables are right, the incremental build is not: report it"
        except MissingDocumentError:
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


def _build_in_parts(settings: Settings, why: str, show: Callable[[str, int, int], None]) -> BuildResult:
    """Build, in smaller parts each time that memory does not suffice."""
    for spread in _SPREADS:
        try:
            return _build(settings, why, spread, show)
        except duckdb.OutOfMemoryException as error:
            why = f"memory did not suffice: orders go in {4 * spread} times as many parts"
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


def _build(settings: Settings, why: str, spread: int, show: Callable[[str, int, int], None]) -> BuildResult:
    """Build once; `why` is the reason for a full rebuild, "" if that is yet to be decided."""
    file = warehouse_file(settings.data_dir)
    raw: dict[str, RawFiles] = {kind: raw_files(settings.data_dir, kind) for kind in KINDS}
    now = Memory(fingerprint_of(settings), states(settings))
    with session(settings) as con:
        create_sources(con, settings)
        if not why and not file.exists():
            why = "there was no warehouse yet"
        before = None
        if file.exists():
            try:
                with attached(con, file):
                    before = remembered(con)
            except duckdb.Error:
                if not why:  # a full rebuild need not read a damaged file
                    raise
        if not why:
            with attached(con, file):
                why = _must_be_full(con, raw, before, now)
                new = {} if why else _new_loads(con, raw)
                sources = (
                    set() if before is None else {n for n in now.sources if before.sources.get(n) != now.sources[n]}
                )
                if not why and not any(new.values()) and not sources:
                    return BuildResult(
                        changed=False,
                        full=False,
                        why="nothing was landed since the last build",
                        rows=_rows(con),
                        checks=results_as_stored(con),
                    )
                if not why:
                    check_files(settings.data_dir, _files_of(raw, new))
                    require_room(settings.data_dir, needed_bytes(file, (), full=False))
                    use_few_threads(con, settings, file)
                    if find_changes(con, raw, new):
                        applied = apply_changes(con, raw, new, now, sources, show)
                        return _result(con, applied, full=False, why=_how_many(con, new, sources))
                    why = "more than half of the orders changed"
                    use_all_threads(con, settings)
        documents = [each.path for files in raw.values() for each in files.documents]
        require_room(settings.data_dir, needed_bytes(file, documents, full=True))
        checks = rebuild(con, file, raw, now, settings.warehouse.buckets, spread, show, engine_of(settings))
        with attached(con, file):
            tables = frozenset(table.name for table in catalogue.tables())
            every = Applied(checks, tables, frozenset(check.name for check in checks))
            return _result(con, every, full=True, why=why)


def _must_be_full(
    con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles], before: Memory | None, now: Memory
) -> str:
    """Return why an increment cannot give what a full rebuild gives, or nothing."""
    if before is None:
        return "the warehouse was made by another version"
    if changed := [name for name in now.fingerprint if before.fingerprint.get(name) != now.fingerprint[name]]:
        return f"{' and '.join(changed)} changed since the last build"
    landed = {load_id for files in raw.values() for load_id in files.load_ids}
    if _applied(con) - landed:
        return "loads that the warehouse holds are no longer in data/raw"
    return ""


def _applied(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in con.execute("select load_id from warehouse.build.loads").fetchall()}


def _new_loads(con: duckdb.DuckDBPyConnection, raw: Mapping[str, RawFiles]) -> dict[str, list[str]]:
    applied = _applied(con)
    return {kind: [each for each in files.load_ids if each not in applied] for kind, files in raw.items()}


def _files_of(raw: Mapping[str, RawFiles], new: Mapping[str, list[str]]) -> list[Path]:
    """Return the files that hold any of these loads."""
    return [
        file.path
        for kind, files in raw.items()
        for area in files
        for file in area
        if set(file.load_ids) & set(new[kind])
    ]


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
    )


def _rows(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    selects = [f"select '{table.name}', count(*) from warehouse.{table.name}" for table in catalogue.tables()]
    counts = dict(con.execute(" union all ".join(selects)).fetchall())
    return {table.name: int(counts[table.name]) for table in catalogue.tables()}


# What DuckDB raises on files that are cut, overwritten, or beside the log of another file.
DAMAGE = (
    duckdb.IOException,
    duckdb.CatalogException,
    duckdb.InternalException,
    duckdb.FatalException,
    duckdb.SerializationException,
)
_DISK_FULL = ("no space left", "disk full", "failed to offload")


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
    log = file.with_name(file.name + ".wal")
    if log.exists():
        log.rename(target.with_name(target.name + ".wal"))
    return target


def short(error: Exception) -> str:
    """Return the first line of an error of DuckDB, without what it adds of its own."""
    return str(error).partition("\n")[0]


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
