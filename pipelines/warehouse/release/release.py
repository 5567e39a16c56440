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


@dataclass
class _DraftRelease:
    """A release that is to be made, unless the last one will do: what it is made of, and its content so far."""

    id: str
    folder: Path
    started: dt.datetime
    run: str
    last: Path | None  # what `current` names
    known: ReleaseManifest | None  # of the last one
    damaged: list[str]  # files of the last one
    previous: Side | None  # the last one, unless it is damaged
    reference: ReferenceRows
    models: Models
    commit: str  # the last of the warehouse
    shown_in: str  # the last commit that concerns readers
    memory: Memory
    rows: dict[str, int] = field(default_factory=dict)
    checks: dict[str, int] = field(default_factory=dict)
    files: list[ReleaseFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
    for each in (published, releases):
        each.chmod(0o755)
    manifests.sweep(published)
    last = current_release(published)
    known = manifests.read_manifest(last) if last else None
    damaged = manifests.damaged_files(last, by_times=run == WEBHOOKS) if last else []
    previous = Side(last, known.files, known.fingerprint, known.own) if last and known and not damaged else None
    with plain_session(settings) as con:
        inputs = read_reference(settings), read_models(settings), *_settle(con, settings)
        started = _now_after(releases)
        id_ = f"{started:%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        draft = _DraftRelease(id_, releases / (UNFINISHED + id_), started, run, last, known, damaged, previous, *inputs)
        if kept := _kept(settings, draft):
            return kept
        draft.folder.mkdir()
        about, parts = _add_tables(con, settings, draft, result)
    made = _add_own(settings, draft, parts, about)
    (draft.folder / DATABASE).chmod(0o444)
    _write_odcs(draft, made)
    _write_manifest(settings, draft, made)
    _switch(published, draft.folder, id_)
    if last and damaged:
        manifests.remove_release(last)
        draft.notes.append(f"Release {last.name} was damaged ({damaged[0]}); it was published again as {id_}.")
    manifests.clear_publication_due(published)
    manifests.prune(published, settings)
    before = {(each.name, each.version) for each in known.own} if known else set()
    own_rows = {each.name: each.rows for each in made.tables.values() if (each.name, each.version) not in before}
    return Release(id_, releases / id_, draft.rows, own=own_rows, notes=tuple(draft.notes))


def _settle(con: duckdb.DuckDBPyConnection, settings: Settings) -> tuple[str, str, Memory]:
    """Write what a killed build left in the log; return the last commit, the last that concerns readers, and inputs."""
    file = warehouse_file(settings.data_dir)
    use_few_threads(con, settings, file)
    with attached(con, file):
        row = con.execute("select commit_id, shown_in from warehouse.build.memory").fetchone()
        commit, shown_in = row or ("", "")
        return str(commit), str(shown_in), remembered(con) or Memory({}, {})


def _kept(settings: Settings, draft: _DraftRelease) -> Release | None:
    """Return the last release, and why it stays the current one; None if the draft is to be made."""
    previous, known, files = draft.previous, draft.known, (draft.reference.digest, draft.models.digest)
    if not previous or not known or (known.reference, known.models) != files:
        return None
    why = "nothing changed" if known.commit == draft.commit else ""
    if draft.run and not why and known.fingerprint == draft.memory.fingerprint:
        why = _why_wait(settings, known, draft.shown_in, draft.run)
    return Release(known.id, previous.folder, known.rows, why) if why else None


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


def _add_tables(
    con: duckdb.DuckDBPyConnection, settings: Settings, draft: _DraftRelease, result: BuildResult | None
) -> tuple[_About, Parts]:
    """Add the warehouse's tables, meta and ref to a draft; return what differs, and of which commit each part is."""
    file, database = warehouse_file(settings.data_dir), draft.folder / DATABASE
    with _beside(lambda: copy_file(file, database)), attached(con, file, READ_ONLY):
        known = draft.known.files if draft.known else []
        draft.files = released_tables.write_parquet(con, draft.folder, draft.last, known, draft.damaged)
        draft.rows = _rows(con, result)
        about = _compared(con, draft)
        parts = _parts(con, draft.reference, draft.id)
        draft.checks = {each.name: each.violations for each in (result.checks if result else results_as_stored(con))}
    with attached(con, database):
        drop_internal_tables(con)
    _describe(draft, about)
    return about, parts


def _compared(con: duckdb.DuckDBPyConnection, draft: _DraftRelease) -> _About:
    """Return the rows of the tables of meta that say what differs from the release before."""
    before, after = draft.previous, Side(draft.folder, draft.files, draft.memory.fingerprint)
    changes = None
    limit = _COMPARED_BYTES_OF_WEBHOOKS if draft.run == WEBHOOKS else _COMPARED_BYTES
    if before and are_comparable(before, after) and differing_bytes(before, after) <= limit:
        changes = compare(con, before._replace(own=()), after)
    previous, version = before.folder.name if before and changes else None, manifests.code_version()["version"]
    release = meta_tables.row_of(meta_tables.RELEASE, draft.id, draft.started, previous, version)
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


def _describe(draft: _DraftRelease, about: _About) -> None:
    """Add macros and schemas meta and ref to a draft, opened itself, and the files of ref."""
    with duckdb.connect(str(draft.folder / DATABASE)) as released:
        released.execute("begin")  # one write to disk instead of hundreds
        meta_tables.create_macros(released)
        released.execute("create schema meta")
        for meta in meta_tables.META:
            released_tables.create_table(released, meta, meta_tables.meta_rows(meta, draft.rows))
        for each in filter(lambda each: each.unless, meta_tables.not_available()):
            known = f"where subject = {literal(each.subject)} and exists ({each.unless})"
            released.execute(f"delete from {meta_tables.MISSING.name} {known}")
        released.execute("create view main.start_here as from meta.schemas")
        meanings = ((column.name, column.description) for column in meta_tables.SCHEMAS.columns)
        comment(released, "view main.start_here", meta_tables.SCHEMAS.description, meanings)
        for meta, facts in about:
            released_tables.add_rows(released, meta, facts)
        of_reference, draft.notes = released_tables.write_reference(released, draft.folder, draft.reference)
        released.execute("commit")
    draft.files += of_reference


def _add_own(settings: Settings, draft: _DraftRelease, parts: Parts, about: _About) -> OwnTables:
    """Make the user's own tables, and add them to a draft, with what meta says; and the files of own and meta."""
    data_dir, folder, previous = settings.data_dir, draft.folder, draft.previous
    made = make_own(draft.models, folder / DATABASE, settings, state_file(data_dir), parts, erasures_state(data_dir))
    with duckdb.connect(str(folder / DATABASE)) as released:
        draft.files += released_tables.write_own(released, settings, made, folder, previous)
        facts = released_tables.of_own(made, draft.models)
        if previous and about[0][1][0]["previous_release_id"]:
            after = previous._replace(folder=folder, files=draft.files, own=[*made.tables.values()])
            own = {each.name: each.table() for each in (*previous.own, *made.tables.values())}
            changes = compare(released, previous, after, own.values())
            facts |= {meta_tables.CHANGES.name: changes.rows, meta_tables.CHANGED_AMOUNTS.name: changes.amounts}
        released.execute("begin")
        for meta in meta_tables.META:
            released_tables.add_rows(released, meta, facts.get(meta.name, []))
        for (name,) in released.execute("select table_name from meta.tables where row_count is null").fetchall():
            count = f"select count(*) from {name}"
            released.execute(f"update meta.tables set row_count = ({count}) where table_name = '{name}'")
        draft.files += [released_tables.write_file(released, folder, meta.name) for meta in meta_tables.META]
        released.execute("commit")
    removed = ((name, why) for name, why in sorted(made.wrong.items()) if why.endswith(ROWS_GONE))
    draft.notes += [f"{name} is not made: {why}." for name, why in removed]
    draft.rows |= {table.name: table.rows for table in made.tables.values()}
    return made


def _write_odcs(draft: _DraftRelease, made: OwnTables) -> None:
    """Write the data contract into a draft, or link that of the last release, if of the same code and own tables."""
    file, own = draft.folder / CONTRACT, list(made.tables.values())
    last, known = draft.last, draft.known
    is_same = known and (known.code, known.own) == (manifests.code_version(), own) and CONTRACT not in draft.damaged
    if not (last and is_same and released_tables.linked(last / CONTRACT, file)):
        file.write_text(odcs([each.table() for each in own]), encoding="utf-8")


def _write_manifest(settings: Settings, draft: _DraftRelease, made: OwnTables) -> None:
    """Write the manifest of a draft that has all its files; one in the place of a damaged release is of its run."""
    folder, known = draft.folder, draft.known
    with _beside(lambda: sync(folder / DATABASE)):
        own = [manifests.described(folder, folder / name) for name in (DATABASE, CONTRACT)]
    manifest = ReleaseManifest(
        id=draft.id,
        published_at=draft.started.isoformat(timespec="seconds"),
        commit=draft.commit,
        code=manifests.code_version(),
        settings=settings_hash(settings),
        rows=draft.rows,
        checks=draft.checks,
        files=[*own, *draft.files],
        as_of=draft.started.isoformat(),
        shown_in=draft.shown_in,
        run=draft.run or (known.run if known and draft.damaged else ""),
        reference=draft.reference.digest,
        models=draft.models.digest,
        own=list(made.tables.values()),
        fingerprint=draft.memory.fingerprint,
        sources=draft.memory.sources,
    )
    manifests.write_manifest(folder, manifest)


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
