"""Restore a backup into an empty data folder: check every hash, rebuild derived files, compare with the release.

Files are copied into a draft, in which later erasures are applied, and moved once all of it is right. The draft's
folder is removed last: while it is there, nothing but another restore opens the data folder. Rows are compared by their
hashes; tables that read the ledger or a log only if the release was built with the same.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from pipelines.backup import comparing
from pipelines.clock import utc_now
from pipelines.durable import sync
from pipelines.finance.closing import build_and_record
from pipelines.inventory import fault, read_inventory, write_inventory
from pipelines.landing.data_folder import RESTORING, guard_format, migrate
from pipelines.landing.load import recover_killed_loads
from pipelines.landing.raw_folder import RawFiles, raw_files
from pipelines.ledger.entries import UNSIGNED
from pipelines.ledger.signed_head import signing_ledger
from pipelines.literals import literal
from pipelines.privacy import NoErasures, apply_to_restored, known_erasures
from pipelines.record import Verdict
from pipelines.settings import Settings, SettingsError
from pipelines.settings.kinds import KINDS
from pipelines.vault import VaultError, open_vault
from pipelines.vault.bodies import ledger_key
from pipelines.warehouse import catalogue
from pipelines.warehouse.building.build import rebuild, warehouse_file
from pipelines.warehouse.inputs.sources import create_sources, states
from pipelines.warehouse.release.manifest import DATABASE
from pipelines.warehouse.release.manifest import read_manifest as read_release_manifest
from pipelines.warehouse.release.release import Release, publish
from pipelines.warehouse.rows.fresh_rows import BuildBlocked
from pipelines.warehouse.rows.session import Memory, fingerprint_of, session

Progress = Callable[[str, int, int], None]


@dataclass
class Comparison:
    """What was compared with the release: its tables, those that differ, those left out, or why there was none."""

    tables: int = 0
    different: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    why_not: str = ""


def release_rows(release: Path, known: comparing.ReleaseRows | None) -> comparing.ReleaseRows | None:
    """Return the rows of a release, those of an earlier backup if it is the same; None if it cannot be read."""
    if (manifest := read_release_manifest(release)) is None:
        return None
    if known is not None and known.id == manifest.id:
        return known
    names = [table.name for table in catalogue.release_tables() if table.name in manifest.rows]
    try:
        hashes = _hashes(release / DATABASE, names)
        with duckdb.connect(str(release / DATABASE), read_only=True) as con:
            loads = [str(row[0]) for row in con.execute("select load_id from audit.loads order by all").fetchall()]
    except duckdb.Error:
        return None
    return comparing.ReleaseRows(manifest.id, loads, manifest.fingerprint, manifest.sources, hashes)


def compare_without_later_loads(
    settings: Settings, release: comparing.ReleaseRows, progress: Callable[[str, int, int], None]
) -> Comparison | None:
    """Rebuild the release's tables without loads landed since into a file, and compare them; None if there are none."""
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


def _other_code(settings: Settings, release: comparing.ReleaseRows) -> str:
    now = fingerprint_of(settings)
    changed = [name for name in now if release.fingerprint.get(name) != now[name]]
    return f"{' and '.join(changed)} differ from those that made the release" if changed else ""


def _compare(file: Path, release: comparing.ReleaseRows, now: Mapping[str, str]) -> Comparison:
    changed = {name for name in now if release.sources.get(name) != now[name]}
    stale: set[str] = set()
    for table in catalogue.tables():
        if (changed | stale) & set(table.depends_on):
            stale.add(table.name)
    wanted = [name for name in release.tables if name not in stale]
    hashes = _hashes(file, wanted)
    different = [
        f"{name} has {hashes[name].count:,} rows, the release {release.tables[name].count:,}"
        if hashes[name].count != release.tables[name].count
        else f"{name} has other values"
        for name in wanted
        if hashes[name] != release.tables[name]
    ]
    return Comparison(len(wanted), different, sorted(release.tables.keys() & stale))


def _hashes(file: Path, names: Iterable[str]) -> dict[str, comparing.Rows]:
    """Return the row hashes of tables of a DuckDB file; an enumerated value is hashed as its text."""
    found = {}
    tables = {table.name: table for table in catalogue.tables()}
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'")
        con.execute(f"attach {literal(file)} as stored (read_only)")
        for name in names:
            kinds = {f'"{column.name}"': column.type for column in tables[name].columns}
            as_text = {key: f"cast({key} as varchar) as {key}" for key, of in kinds.items() if of.startswith("ENUM")}
            columns = ", ".join(as_text.get(key, key) for key in kinds)
            row = con.execute(
                f"select count(*), sum(hash(r)) from (select {columns} from stored.{name}) as r"
            ).fetchone()
            count, hashes = row or (0, None)
            found[name] = comparing.Rows(count, str(hashes or 0))
    return found


_LOCKS = {"run.lock", "inventory.lock"}
# What a backup writes; nothing else is restored, such as code or settings that somebody put in.
_WRITTEN = re.compile(
    r"format\.json|inventory\.json|inbox/worklist\.sqlite|vault/vault\.sqlite|warehouse/verifications\.jsonl|"
    r"ledger/(ledger\.jsonl|[^/.][^/]*\.parquet)|raw/(source|erasures|merged-[^/]+|service/[^/]+)\.json|"
    r"raw/(backfill-[^/]+\.jsonl|(documents|observations)/[^/]+/[^/]+\.parquet)"
)


@dataclass(frozen=True)
class Restored:
    """A restored folder: its backup, its new release, how that compares, notes, and why the vault cannot be opened."""

    backup: Path
    manifest: comparing.BackupManifest
    release: Release
    comparison: Comparison
    notes: tuple[str, ...]
    unopened: tuple[str, ...] = ()

    def assess(self) -> Verdict:
        """Whether it is as it was: every file is, or nothing is restored; rows are compared, and the vault opened."""
        checked = {"files": len(self.manifest.files), "tables": self.comparison.tables}
        unchecked = [self.comparison.why_not] if self.comparison.why_not else []
        return Verdict(checked, self.comparison.different, [*unchecked, *self.unopened])


def check_backup(folder: Path) -> tuple[Path, comparing.BackupManifest]:
    """Read every file of a backup, or of the last one in a folder; raise BackupError naming the damaged file."""
    backup = _chosen(folder)
    manifest = comparing.read_manifest(backup)
    noted = {backup / file.path: (file.bytes, file.sha256) for file in manifest.files}
    _raise_damage(backup, {path: fault(path, content, reads=True) for path, content in noted.items()})
    return backup, manifest


def restore(
    settings: Settings,
    folder: Path,
    progress: Progress | None = None,
    *,
    word: NoErasures | None = None,
    unsigned: NoErasures | None = None,
) -> Restored:
    """Restore a backup, or the last one in a folder, into the data folder, build, publish and compare.

    The caller holds the run lock. What a killed restore left is removed first. Raise BackupError, with the data folder
    as it was, if that is not empty or a file of the backup is damaged, and with every file restored if the build fails;
    SettingsError if the data came from another service; PrivacyError if later erasures are not known of, unless
    somebody gives their word that there were none. A manifest that is not signed, or by another key, is refused unless
    somebody says why it is `unsigned`.
    """
    show = progress or (lambda *_: None)
    data_dir = settings.data_dir
    backup = _chosen(folder)
    manifest = comparing.read_manifest(backup)
    here = settings.partner.base_url.rstrip("/")
    if manifest.base_url not in ("", here):
        raise SettingsError(
            f"{backup} holds data of {manifest.base_url}, and [partner] base_url is {here}: set it back"
        )
    held = sorted(each.name for each in data_dir.iterdir() if each.name not in _LOCKS)
    if held and RESTORING not in held:
        advice = "move it away, or set [data] dir to a new folder"
        raise comparing.BackupError(f"{data_dir} is not empty, it has {', '.join(held[:5])}: {advice}")
    ledgers = (each / "ledger" for each in {*comparing.backups(backup.parent), backup})
    erasures = known_erasures(settings, backup, ledgers, word)
    try:
        notes = [*_set_aside(data_dir, held)]
        notes += _put_in_place(settings, backup, manifest, erasures, word, unsigned, show)
    except OSError as error:
        raise comparing.BackupError(f"nothing was restored: {error.filename or data_dir}: {error.strerror}") from None
    guard_format(data_dir)
    try:
        release, comparison = _built(settings, manifest, show)
    except Exception as error:
        why = str(error).rstrip(".") if type(error).__module__.startswith("pipelines.") else type(error).__name__
        raise comparing.BackupError(
            "every file was restored, and what is derived could not be built, published and compared with the release "
            f"of that time: {why}. Do not restore again: put that right, then `ordermart build`"
        ) from error
    return Restored(backup, manifest, release, comparison, tuple(notes), tuple(_vault_note(settings)))


def _put_in_place(
    settings: Settings,
    backup: Path,
    manifest: comparing.BackupManifest,
    erasures: dict[str, Any],
    word: NoErasures | None,
    unsigned: NoErasures | None,
    show: Progress,
) -> list[str]:
    """Copy a backup into a draft, erase in it what was erased later, and move it into the data folder."""
    data_dir = settings.data_dir
    draft = data_dir / RESTORING
    try:
        draft.mkdir(mode=0o700)
        sync(data_dir)
        _copy(backup, manifest, draft, show)
        if (inventory := read_inventory(draft)).files:
            write_inventory(draft, inventory)
        # The witness keeps the head of a folder in use: a draft that is killed leaves nothing there.
        data = msgspec.structs.replace(settings.data, dir=str(draft))
        own = msgspec.structs.replace(settings, data=data, ledger=msgspec.structs.replace(settings.ledger, witness=""))
        if unsigned is None:
            _require_signature(own, backup, manifest)
        notes = [*migrate(draft), *_erased_again(own, erasures, backup.name, word)]
        if unsigned:
            signing_ledger(own, is_restored=True).append(UNSIGNED, unsigned.body_of(backup.name))
        comparing.sync_tree(draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        sync(data_dir)
        raise
    for area in sorted(draft.iterdir()):  # interrupted here, a part is restored: the draft stays and says so
        area.rename(data_dir / area.name)
    sync(data_dir)
    draft.rmdir()
    sync(data_dir)
    return notes


def _require_signature(settings: Settings, backup: Path, manifest: comparing.BackupManifest) -> None:
    """Raise BackupError unless the key of the copied vault signed the manifest."""
    why = "is not signed: its backup is of an older version, or somebody changed it"
    if manifest.signature:
        try:
            seed, _ = ledger_key(settings)
            if seed and compare_digest(comparing.signature_of(manifest, seed), manifest.signature):
                return
            why = "has another signature: somebody changed it"
        except VaultError as error:
            why = f"is signed, which only the vault's keys of that time can prove ({error})"
    what = f"{backup / comparing.MANIFEST} {why}. Nothing was restored: use another backup of {backup.parent}"
    raise comparing.BackupError(f"{what}, or give --unsigned REASON if you know that nobody changed it")


def _is_copy(path: Path, draft: Path) -> bool:
    """Tell whether a restore that was killed may have written a file, or made a folder."""
    name = re.sub(r"-copy(?=\.json\Z)|(-wal|-shm|-journal|\.tmp)\Z", "", str(path.relative_to(draft)))
    is_ours = path.is_dir() or name.endswith(".lock") or _WRITTEN.fullmatch(name) is not None
    return is_ours and not path.is_symlink() and not path.is_mount()


def _set_aside(data_dir: Path, held: Iterable[str]) -> Iterator[str]:
    """Move the content of a data folder, a killed restore's or somebody's, beside it, and say so; delete nothing."""
    found = [data_dir / name for name in held]
    draft = data_dir / RESTORING
    if draft.is_dir() and not draft.is_symlink() and all(_is_copy(each, draft) for each in draft.rglob("*")):
        shutil.rmtree(draft)  # of a restore that was killed: only copies of the backup
        found.remove(draft)
    if found:
        aside = data_dir.with_name(f"{data_dir.name}.before-{utc_now():%Y%m%dT%H%M%S%f}")
        aside.mkdir(mode=0o700)
        for path in found:
            path.rename(aside / path.name)
        yield f"What was in {data_dir} is now in {aside}; it may hold personal data, so remove it soon."


def _built(settings: Settings, manifest: comparing.BackupManifest, show: Progress) -> tuple[Release, Comparison]:
    """Build and publish what was restored; return the release, and how it compares with that of the backup."""
    comparison = compare_without_later_loads(settings, manifest.release, show) if manifest.release else None
    before = states(settings)
    build_and_record(settings, progress=show)
    release = publish(settings)
    if manifest.release is None:
        return release, Comparison(why_not="there was no release yet when the backup began")
    if why_not := _other_code(settings, manifest.release):
        comparison = comparison or Comparison(why_not=why_not)
    return release, comparison or _compare(warehouse_file(settings.data_dir), manifest.release, before)


def _chosen(folder: Path) -> Path:
    """Return the backup itself, or the last one in a folder."""
    if (folder / comparing.MANIFEST).exists():
        return folder
    if not (found := comparing.backups(folder)):
        advice = "name the folder that `ordermart backup` was given"
        raise comparing.BackupError(f"{folder} holds no complete backup: {advice}")
    return found[-1]


def _copy(backup: Path, manifest: comparing.BackupManifest, draft: Path, show: Progress) -> None:
    """Copy every file of a backup; raise BackupError naming the damaged file."""
    wrong = {}
    for number, file in enumerate(manifest.files, 1):
        source, target = backup / file.path, draft / file.path
        if not _WRITTEN.fullmatch(file.path) or source.resolve() != backup.resolve() / file.path:
            why = f"{backup / comparing.MANIFEST}: {file.path} is a link, or no file that a backup writes"
            raise comparing.BackupError(f"{why}; nothing was restored. Use another backup of {backup.parent}")
        try:
            if comparing.copy_file(source, target) != (noted := (file.bytes, file.sha256)):
                wrong[source] = fault(source, noted, reads=True) or "read with errors"
        except FileNotFoundError:
            wrong[source] = "missing"
            continue
        show("copying files of the backup", number, len(manifest.files))
    _raise_damage(backup, wrong)
    if (draft / "vault").exists():
        (draft / "vault").chmod(0o700)
        for path in (draft / "vault").iterdir():
            path.chmod(0o600)


def _raise_damage(backup: Path, faults: dict[Path, str]) -> None:
    """Raise BackupError if a file has a fault, naming the first five."""
    if wrong := [f"{path} ({why})" for path, why in faults.items() if why]:
        what = f"{backup} is damaged in {len(wrong)} files: {'; '.join(wrong[:5])}. Nothing was restored"
        raise comparing.BackupError(f"{what}: use another backup of {backup.parent}")


def _erased_again(settings: Settings, erasures: dict[str, Any], backup: str, word: NoErasures | None) -> list[str]:
    """Apply later erasures to what was copied, before any of it is built or shown; say so."""
    try:
        count = apply_to_restored(settings, erasures, backup, word)
    except VaultError as error:
        raise comparing.BackupError(
            f"later erasures could not be applied: {error}. Nothing was restored: set the vault's keys, and try again"
        ) from None
    return [f"{count} erasures that are later than the backup were applied again."] if count else []


def _vault_note(settings: Settings) -> list[str]:
    """Say so if the vault cannot be opened: its keys are in no backup, and it is useless without them."""
    if not (settings.data_dir / "vault" / "vault.sqlite").exists():
        return []
    try:
        with open_vault(settings) as vault:
            for kind in KINDS:  # loads that were committed while the backup was taken, and that it lacks
                recover_killed_loads(settings.data_dir, vault, kind)
            return []
    except VaultError as error:
        note = f"The vault was restored and cannot be opened: {error}. Its keys are in no backup; without them the "
        return [note + "personal data are lost, and nothing can be landed"]
