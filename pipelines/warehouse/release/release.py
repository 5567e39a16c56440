"""Publish the warehouse: a folder with one DuckDB file, Parquet and a manifest, switched to in one rename.

A release is written under another name, synced, renamed, and only then named by `current`. Whatever is killed when, a
reader that resolves `current` once sees an old release or a new one, whole. Parquet that no commit touched since the
last release is that release's file, by a hard link. A run that changed nothing for readers publishes nothing.

    A night changed orders of October: the new release has Parquet files of its own for October in each table that
    changed, links to the files of all other months and tables, and a copy of the warehouse as its DuckDB file.
"""

import contextlib
import datetime as dt
import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipelines.clock import utc_now
from pipelines.durable import copy_file, make_folder, naming_a_full_disk, open_to_readers, sync
from pipelines.landing.data_folder import erasures_state
from pipelines.literals import literal
from pipelines.record import WEBHOOKS, current_release
from pipelines.settings import Settings, settings_hash
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import warehouse_file
from pipelines.warehouse.catalogue import Table, meta_tables
from pipelines.warehouse.catalogue.descriptions import CONTRACT, odcs
from pipelines.warehouse.inputs.sources import ReferenceRows, read_reference
from pipelines.warehouse.own.making import ROWS_GONE, OwnTables, Parts, make_own, state_file
from pipelines.warehouse.own.models import Models, read_models
from pipelines.warehouse.release import manifest as manifests
from pipelines.warehouse.release import released_tables
from pipelines.warehouse.release.manifest import DATABASE, UNFINISHED, ReleaseFile, ReleaseManifest
from pipelines.warehouse.release.release_diff import Side, are_comparable, compare, differing_bytes
from pipelines.warehouse.rows.fresh_rows import BuildResult, results_as_stored
from pipelines.warehouse.rows.session import READ_ONLY, Memory, attached, plain_session, remembered, use_few_threads
from pipelines.warehouse.storage import comment, count_of

# Of Parquet that differs, for webhooks and else: more is compared only by `ordermart diff`.
_COMPARED_BYTES_OF_WEBHOOKS, _COMPARED_BYTES = 32 * 2**20, 512 * 2**20


@dataclass(frozen=True)
class Release:
    """The current release: where it is and how many rows each table has."""

    id: str
    path: Path
    rows: Mapping[str, int]
    why_kept: str = ""  # why no other was published, "" if this one is new
    own: Mapping[str, int] = field(default_factory=dict)  # rows of the user's own tables that are others than before
    notes: tuple[str, ...] = ()  # sentences for the run's user: damage, and its repair


_About = list[tuple[Table, list[dict[str, Any]]]]  # the rows of tables of meta


def publish(settings: Settings, result: BuildResult | None = None, *, run: str = "") -> Release:
    """Publish the warehouse as it is and return the release that `current` now names.

    When `current` already shows this state of the warehouse, and its files are what its manifest says, nothing is
    written; a damaged release is published again, as of the run that it was of, and removed. For a `run` (night or
    webhooks) it is enough that `current` shows what concerns readers; a release of one for webhooks waits for
    [release] publish_every_minutes. The manifest has the violations of every check: from `result`, else as the build
    stored them. One process at a time: the caller holds the run lock.
    """
    with naming_a_full_disk(settings.data_dir):
        try:
            return _publish(settings, result, run)
        except Exception:
            manifests.sweep(settings.data_dir / "published")  # a draft would keep a full disk full
            raise


def _publish(settings: Settings, result: BuildResult | None, run: str) -> Release:
    releases = settings.data_dir / "published" / "releases"
    published = releases.parent
    make_folder(releases)
    for folder in (published, releases):
        folder.chmod(0o755)
    manifests.sweep(published)
    last = current_release(published)
    known = manifests.read_manifest(last) if last else None
    damaged = manifests.damaged_files(last, by_times=run == WEBHOOKS) if last else []
    reference, models = read_reference(settings), read_models(settings)
    with plain_session(settings) as con:
        commit, shown_in, memory = _settle(con, settings)
        started = _now_after(releases)
        if last and known and not damaged and (known.reference, known.models) == (reference.digest, models.digest):
            why = "nothing changed" if known.commit == commit else ""
            if run and not why and known.fingerprint == memory.fingerprint:
                why = _why_wait(settings, known, shown_in, run)
            if why:
                return Release(known.id, last, known.rows, why)
        release_id = f"{started:%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        draft = releases / (UNFINISHED + release_id)
        draft.mkdir()
        file = warehouse_file(settings.data_dir)
        with _beside(lambda: copy_file(file, draft / DATABASE)), attached(con, file, READ_ONLY):
            whole = [each for each in known.files if each.path not in damaged] if known else []
            files = released_tables.write_parquet(con, draft, last, whole)
            rows = _rows(con, result)
            previous = Side(last, known.files, known.fingerprint, known.own) if last and known and not damaged else None
            about = _compared(con, release_id, started, previous, Side(draft, files, memory.fingerprint), run)
            parts = _parts(con, reference, release_id)
            checks = result.checks if result else results_as_stored(con)
        with attached(con, draft / DATABASE):
            drop_internal_tables(con)
        notes = _describe(draft, rows, about, reference, files)
    made = _add_own(settings, draft, models, parts, previous, about, files)
    notes += [f"{name} is not made: {why}." for name, why in sorted(made.wrong.items()) if why.endswith(ROWS_GONE)]
    rows |= {table.name: table.rows for table in made.tables.values()}
    (draft / DATABASE).chmod(0o444)
    is_same = known is not None and known.code == manifests.code_version() and CONTRACT not in damaged
    _write_odcs(draft, last if is_same and known and known.own == list(made.tables.values()) else None, made)
    with _beside(lambda: sync(draft / DATABASE)):
        own = [manifests.described(draft, draft / DATABASE), manifests.described(draft, draft / CONTRACT)]
    manifest = ReleaseManifest(
        id=release_id,
        published_at=started.isoformat(timespec="seconds"),
        commit=commit,
        code=manifests.code_version(),
        settings=settings_hash(settings),
        rows=rows,
        checks={check.name: check.violations for check in checks},
        files=[*own, *files],
        as_of=started.isoformat(),
        shown_in=shown_in,
        run=run or (known.run if known and damaged else ""),
        reference=reference.digest,
        models=models.digest,
        own=list(made.tables.values()),
        fingerprint=memory.fingerprint,
        sources=memory.sources,
    )
    manifests.write_manifest(draft, manifest)
    _switch(published, draft, release_id)
    if last and damaged:
        manifests.remove_release(last)
        notes.append(f"Release {last.name} was damaged ({damaged[0]}); it was published again as {release_id}.")
    manifests.clear_publication_due(published)
    manifests.prune(published, settings)
    before = {(each.name, each.version) for each in known.own} if known else set()
    own_rows = {each.name: each.rows for each in made.tables.values() if (each.name, each.version) not in before}
    return Release(release_id, releases / release_id, rows, own=own_rows, notes=tuple(notes))


def _settle(con: duckdb.DuckDBPyConnection, settings: Settings) -> tuple[str, str, Memory]:
    """Write what a killed build left in the log; return the last commit, the last that concerns readers, and inputs."""
    file = warehouse_file(settings.data_dir)
    use_few_threads(con, settings, file)
    with attached(con, file):
        row = con.execute("select commit_id, shown_in from warehouse.build.memory").fetchone()
        commit, shown_in = row or ("", "")
        return str(commit), str(shown_in), remembered(con) or Memory({}, {})


def _why_wait(settings: Settings, known: ReleaseManifest, shown_in: str, run: str) -> str:
    """Return why a run publishes no other release, "" if it does; none waits for one made while the clock was ahead."""
    published = settings.data_dir / "published"
    if known.shown_in == shown_in:
        manifests.clear_publication_due(published)
        return "no row of core or mart and no open decision changed"
    made, now = dt.datetime.fromisoformat(known.as_of or known.published_at), utc_now()
    until = made + dt.timedelta(minutes=settings.release.publish_every_minutes)
    if run != WEBHOOKS or until <= now or made > now:
        return ""
    manifests.defer(published, until)
    return f"the changes wait until {until:%Y-%m-%d %H:%M:%SZ} ([release] publish_every_minutes)"


def _compared(
    con: duckdb.DuckDBPyConnection, release_id: str, as_of: dt.datetime, before: Side | None, after: Side, run: str
) -> _About:
    """Return the rows of the tables of meta that say what differs from the release before."""
    changes = None
    limit = _COMPARED_BYTES_OF_WEBHOOKS if run == WEBHOOKS else _COMPARED_BYTES
    if before and are_comparable(before, after) and differing_bytes(before, after) <= limit:
        changes = compare(con, before._replace(own=()), after)
    previous, version = before.folder.name if before and changes else None, manifests.code_version()["version"]
    release = meta_tables.row_of(meta_tables.RELEASE, release_id, as_of, previous, version)
    rows, amounts = (changes.rows, changes.amounts) if changes else ([], [])
    return list(zip(meta_tables.COMPARED, ([release], rows, amounts), strict=True))


def _parts(con: duckdb.DuckDBPyConnection, reference: ReferenceRows, release_id: str) -> Parts:
    """Return of which commit the rows of each table and month are; of ref and meta, of which files and release."""
    parts: Parts = {table.name: {} for table in catalogue.release_tables()}
    months = "select table_name, month, changed_in from warehouse.build.months"
    for name, month, commit in con.execute(months).fetchall():
        parts.setdefault(name, {})[month] = commit
    parts |= {meta.name: {"": reference.digest} for meta in meta_tables.REFERENCE}
    return parts | {meta.name: {"": release_id} for meta in meta_tables.META}


def _describe(
    draft: Path, rows: Mapping[str, int], about: _About, reference: ReferenceRows, files: list[ReleaseFile]
) -> list[str]:
    """Add macros and schemas meta and ref to a release, opened itself, and the files of ref; return sentences."""
    with duckdb.connect(str(draft / DATABASE)) as released:
        released.execute("begin")  # one write to disk instead of hundreds
        meta_tables.create_macros(released)
        released.execute("create schema meta")
        for meta in meta_tables.META:
            released_tables.create_table(released, meta, meta_tables.meta_rows(meta, rows))
        for each in filter(lambda each: each.unless, meta_tables.not_available()):
            known = f"where subject = {literal(each.subject)} and exists ({each.unless})"
            released.execute(f"delete from {meta_tables.MISSING.name} {known}")
        released.execute("create view main.start_here as from meta.schemas")
        meanings = ((column.name, column.description) for column in meta_tables.SCHEMAS.columns)
        comment(released, "view main.start_here", meta_tables.SCHEMAS.description, meanings)
        for meta, facts in about:
            released_tables.add_rows(released, meta, facts)
        of_reference, notes = released_tables.write_reference(released, draft, reference)
        released.execute("commit")
    files += of_reference
    return notes


def _add_own(
    settings: Settings,
    draft: Path,
    models: Models,
    parts: Parts,
    previous: Side | None,
    about: _About,
    files: list[ReleaseFile],
) -> OwnTables:
    """Make the user's own tables, and add them to a release, with what meta says; and the files of own and meta."""
    data_dir = settings.data_dir
    made = make_own(models, draft / DATABASE, settings, state_file(data_dir), parts, erasures_state(data_dir))
    with duckdb.connect(str(draft / DATABASE)) as released:
        files += released_tables.write_own(released, settings, made, draft, previous)
        facts = released_tables.of_own(made, models)
        if previous and about[0][1][0]["previous_release_id"]:
            after = previous._replace(folder=draft, files=files, own=[*made.tables.values()])
            own = {each.name: each.table() for each in (*previous.own, *made.tables.values())}
            changes = compare(released, previous, after, own.values())
            facts |= {meta_tables.CHANGES.name: changes.rows, meta_tables.CHANGED_AMOUNTS.name: changes.amounts}
        released.execute("begin")
        for meta in meta_tables.META:
            released_tables.add_rows(released, meta, facts.get(meta.name, []))
        for (name,) in released.execute("select table_name from meta.tables where row_count is null").fetchall():
            count = f"select count(*) from {name}"
            released.execute(f"update meta.tables set row_count = ({count}) where table_name = '{name}'")
        files += [released_tables.write_file(released, draft, meta.name) for meta in meta_tables.META]
        released.execute("commit")
    return made


def _write_odcs(draft: Path, same: Path | None, made: OwnTables) -> None:
    """Write the data contract into a release, or link that of a release of the same code and own tables."""
    if not (same and released_tables.linked(same / CONTRACT, draft / CONTRACT)):
        (draft / CONTRACT).write_text(odcs([each.table() for each in made.tables.values()]), encoding="utf-8")


def _rows(con: duckdb.DuckDBPyConnection, result: BuildResult | None) -> dict[str, int]:
    """Return how many rows each table of a release has, as the build counted them, if there was one."""
    names = [table.name for table in catalogue.release_tables()]
    if result:
        return {name: result.rows[name] for name in names}
    return {name: count_of(con.execute(f"select count(*) from warehouse.{name}")) for name in names}


@contextlib.contextmanager
def _beside(work: Callable[[], object]) -> Iterator[None]:
    """Do what waits for the disk in a thread while the block runs; its error is raised after the block."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        yield
    done.result()


def _switch(published: Path, draft: Path, release_id: str) -> None:
    """Make a draft a release, and `current` name it, in one rename each."""
    open_to_readers(draft)
    for each in (*draft.rglob("*"), draft):
        sync(each)
    draft.rename(published / "releases" / release_id)
    sync(published / "releases")
    link = published / f"{UNFINISHED}current"
    link.unlink(missing_ok=True)
    link.symlink_to(f"releases/{release_id}")
    link.replace(published / "current")
    sync(published)


def _now_after(releases: Path) -> dt.datetime:
    """Return the time of now, or just after the last release where the clock was set back: ids follow each other."""
    now = utc_now()
    for name in sorted((each.name for each in releases.iterdir() if not each.name.startswith(".")), reverse=True):
        with contextlib.suppress(ValueError):
            last = dt.datetime.strptime(name.partition("-")[0], "%Y%m%dT%H%M%S%f").replace(tzinfo=dt.UTC)
            return max(now, last + dt.timedelta(microseconds=1))
    return now


_HIDDEN = r"""
select 1 from warehouse.workings.load_notes where note[1] = '/'
    and (kind, regexp_replace(note, ':[a-z|]+$', '')) not in (select (kind, path) from warehouse.audit.field_profile)
limit 1
"""
_FREE = "select (free_blocks + 2) * block_size // 8 from pragma_database_size() where database_name = 'warehouse'"


def drop_internal_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Drop what `warehouse` does not show to readers, and overwrite it if it holds names that the rest does not.

    DuckDB only marks the blocks as free. Some tables have the names of undocumented fields, which may be a person's.
    """
    has_names = con.execute(_HIDDEN).fetchone() is not None
    con.execute("begin")  # one write to disk instead of dozens
    internal = [f"drop table warehouse.{table.name}" for table in catalogue.tables() if not table.is_released]
    con.execute("; ".join(["drop schema warehouse.build cascade", *internal]))
    con.execute("commit")
    if not has_names:
        return
    con.execute("checkpoint warehouse")  # then free blocks get numbers that do not compress, and are freed again
    (count,) = con.execute(_FREE).fetchone() or (0,)
    con.execute(f"create table warehouse.main.filler as select hash(range) as n from range({count})")
    con.execute("checkpoint warehouse; drop table warehouse.main.filler; checkpoint warehouse")
