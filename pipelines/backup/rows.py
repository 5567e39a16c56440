"""Hash the rows of a release's tables, and compare a restored folder with them.

Tables that read the ledger or a log are compared only if the release was built with the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from pipelines.backup.manifest import ReleaseRows, Rows
from pipelines.landing import raw_files
from pipelines.landing.raw_files import RawFiles
from pipelines.literals import literal
from pipelines.settings.kinds import KINDS
from pipelines.warehouse import catalogue, warehouse_file
from pipelines.warehouse.building.full_rebuild import rebuild
from pipelines.warehouse.inputs.sources import create_sources, states
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.release.release import DATABASE
from pipelines.warehouse.rows.fresh_rows import BuildBlocked
from pipelines.warehouse.rows.session import Memory, fingerprint_of, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pipelines.settings import Settings


@dataclass
class Comparison:
    """What was compared with the release: its tables, those that differ, those left out, or why there was none."""

    tables: int = 0
    different: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    why_not: str = ""


def release_rows(release: Path, known: ReleaseRows | None) -> ReleaseRows | None:
    """Return the rows of a release, those of an earlier backup if it is the same; None if it cannot be read."""
    manifest = read_manifest(release)
    if manifest is None:
        return None
    if known is not None and known.id == manifest.id:
        return known
    names = [table.name for table in catalogue.released() if table.name in manifest.rows]
    try:
        hashes = _hashes(release / DATABASE, names)
        with duckdb.connect(str(release / DATABASE), read_only=True) as con:
            loads = [str(row[0]) for row in con.execute("select load_id from audit.loads order by all").fetchall()]
    except duckdb.Error:
        return None
    return ReleaseRows(manifest.id, loads, manifest.fingerprint, manifest.sources, hashes)


def compare_without_later_loads(
    settings: Settings, release: ReleaseRows, progress: Callable[[str, int, int], None]
) -> Comparison | None:
    """Rebuild the release's tables into a file of their own and compare them; None if nothing was landed since.

    The loads that were landed after the release are left out of it.
    """
    held = set(release.load_ids)
    raw: dict[str, RawFiles] = {}
    later = 0
    for kind in KINDS:
        files = raw_files(settings.data_dir, kind)
        later += len(set(files.load_ids) - held)
        if any(held & set(file.load_ids) and set(file.load_ids) - held for file in files.observations):
            return Comparison(why_not="loads of the release were since merged with later ones")
        raw[kind] = RawFiles(*([file for file in area if set(file.load_ids) <= held] for area in files))
    if not later:
        return None
    if why_not := _other_code(settings, release):
        return Comparison(why_not=why_not)
    file = warehouse_file(settings.data_dir).with_name("restore.duckdb")
    now = states(settings)
    try:
        with session(settings) as con:
            create_sources(con, settings)
            memory = Memory(fingerprint_of(settings), now)
            rebuild(con, file, raw, memory, settings.warehouse.buckets, 1, progress)
        return _compare(file, release, now)
    except BuildBlocked as error:
        return Comparison(why_not=f"what the release held cannot be built without what came later: {error}")
    finally:
        for each in (file, file.with_name(file.name + ".wal")):
            each.unlink(missing_ok=True)


def compare_warehouse(settings: Settings, release: ReleaseRows, before: Mapping[str, str]) -> Comparison:
    """Compare the warehouse with the release; `before` are the states of the sources that it was built with."""
    if why_not := _other_code(settings, release):
        return Comparison(why_not=why_not)
    return _compare(warehouse_file(settings.data_dir), release, before)


def _other_code(settings: Settings, release: ReleaseRows) -> str:
    now = fingerprint_of(settings)
    changed = [name for name in now if release.fingerprint.get(name) != now[name]]
    return f"{' and '.join(changed)} differ from those that made the release" if changed else ""


def _compare(file: Path, release: ReleaseRows, now: Mapping[str, str]) -> Comparison:
    found = Comparison()
    changed = {name for name in now if release.sources.get(name) != now[name]}
    stale: set[str] = set()
    for table in catalogue.tables():
        if (changed | stale) & set(table.depends_on):
            stale.add(table.name)
    wanted = [name for name in release.tables if name not in stale]
    found.left_out = sorted(release.tables.keys() & stale)
    hashes = _hashes(file, wanted)
    found.tables = len(wanted)
    found.different = [
        f"{name} has {hashes[name].count:,} rows, the release {release.tables[name].count:,}"
        if hashes[name].count != release.tables[name].count
        else f"{name} has other values"
        for name in wanted
        if hashes[name] != release.tables[name]
    ]
    return found


def _hashes(file: Path, names: Iterable[str]) -> dict[str, Rows]:
    """Return the row hashes of tables of a DuckDB file; an enumerated value is hashed as its text."""
    found = {}
    tables = {table.name: table for table in catalogue.tables()}
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'")
        con.execute(f"attach {literal(file)} as stored (read_only)")
        for name in names:
            columns = ", ".join(
                f'cast("{column.name}" as varchar) as "{column.name}"'
                if column.type.startswith("ENUM")
                else f'"{column.name}"'
                for column in tables[name].columns
            )
            row = con.execute(
                f"select count(*), sum(hash(r)) from (select {columns} from stored.{name}) as r"
            ).fetchone()
            count, hashes = row or (0, None)
            found[name] = Rows(count, str(hashes or 0))
    return found
