"""Take a backup while runs and the receiver go on: a folder of its own, in which unchanged files are links.

The order makes it consistent: what refers to something is copied before it. The release is looked at first, then the
work list, the ledger, raw, and the vault, of which later loads are undone in the copy.
"""

import datetime as dt
import fcntl
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import msgspec

from pipelines import inventory
from pipelines.backup import comparing
from pipelines.backup.restore import release_rows
from pipelines.clock import utc_now
from pipelines.durable import file_hash, make_folder, sync, write_whole
from pipelines.landing.data_folder import guard_format, remember_erasure_log
from pipelines.landing.raw_folder import raw_files
from pipelines.ledger import ledger_of
from pipelines.ledger.entries import erasures
from pipelines.ledger.signed_head import sign_missing_heads
from pipelines.notify import LastBackup, record_backup
from pipelines.privacy import LOG, add_to_log, erasure_log
from pipelines.record import Verdict, current_release
from pipelines.settings import Settings, SettingsError
from pipelines.settings.kinds import KINDS
from pipelines.vault import VaultError
from pipelines.vault.bodies import ledger_key
from pipelines.vault.database import forget_later_loads

Progress = Callable[[str, int, int], None]

_ATTEMPTS = 5  # maintenance may merge raw files while they are copied: then the list of files is read again
_DAY = dt.timedelta(days=1)  # no load takes longer from its name to its commit


@dataclass(frozen=True)
class BackedUp:
    """A completed backup: its folder, how many files it has, and how many of them were copied, with their bytes."""

    path: Path
    files: int
    copied: int
    bytes: int
    removed: int
    is_signed: bool

    def assess(self) -> Verdict:
        """All that `compare` knows of was there and undamaged, or there would be no backup."""
        return Verdict({"files": self.files, "copied": self.copied})


def back_up(settings: Settings, folder: Path, *, keep: int = 0, progress: Progress | None = None) -> BackedUp:
    """Write a backup into a new folder below `folder`; with `keep`, remove the oldest beyond so many.

    Raise BackupError if nothing was ever landed, a file is damaged, or it cannot be written, and PrivacyError if the
    erasure log cannot be: earlier backups stay as they were. One backup at a time; nothing else has to wait for it.
    """
    data_dir, folder = settings.data_dir.resolve(), folder.resolve()
    if folder == data_dir or data_dir in folder.parents or folder in data_dir.parents:
        raise SettingsError(f"{folder} and {data_dir} contain each other: name a folder elsewhere, on another disk")
    if not (data_dir / "raw").is_dir():
        raise comparing.BackupError(f"{data_dir} holds no landed documents: there is nothing to back up yet")
    guard_format(data_dir)
    try:
        make_folder(folder, 0o700)
        with _alone(folder):
            return _Backup(settings, data_dir, folder, progress or (lambda *_: None)).take(keep)
    except sqlite3.Error as error:
        raise comparing.BackupError(
            f"the backup was not completed: a copy of the work list or of the vault failed ({error}). Earlier backups "
            f"in {folder} stay as they were; free some disk, or restore the damaged file from one of them"
        ) from None
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise comparing.BackupError(
            f"the backup was not completed:{where} {error.strerror or error}. Earlier backups in {folder} stay as they "
            "were; free some disk or correct the path, and run it again"
        ) from None


@dataclass
class _Backup:
    settings: Settings
    data_dir: Path
    folder: Path
    progress: Progress
    files: dict[str, comparing.BackupFile] = field(default_factory=dict)
    copied: int = 0
    bytes: int = 0

    def take(self, keep: int) -> BackedUp:
        """Write the backup under another name, rename it, record it, and remove the oldest."""
        for left in self.folder.glob(comparing.UNFINISHED + "*"):
            shutil.rmtree(left)
        earlier = comparing.backups(self.folder)
        self.last = earlier[-1] if earlier else None
        manifest = comparing.read_manifest(self.last) if self.last else None
        self.known = {file.path: file for file in manifest.files} if manifest else {}
        found = comparing.compare(self.settings)
        if found.damages:
            damages = " ".join(each.sentence() for each in found.damages)
            raise comparing.BackupError(f"nothing was backed up, earlier backups stay: {damages}")
        log = erasure_log(self.settings) or self.folder / LOG
        add_to_log(log, erasures(ledger_of(self.data_dir)), [each.name for each in earlier])
        remember_erasure_log(self.data_dir, log)  # once the note that has it is known to be right
        sign_missing_heads(self.settings)  # the copy must have the key: a witness knows no other
        inventory.record_stores(self.data_dir)
        self.inventory = inventory.read_inventory(self.data_dir)
        started = max(utc_now(), comparing.name_after(self.last))
        name = f"{started:%Y%m%dT%H%M%S%f}"
        self.draft = self.folder / (comparing.UNFINISHED + name)
        self.draft.mkdir(mode=0o700)
        current = current_release(self.data_dir / "published")
        release = release_rows(current, manifest.release if manifest else None) if current else None
        self._database("inbox/worklist.sqlite")
        self._ledger()
        loads = self._raw()
        since, head = _since(started), self.inventory.ledger
        self._database("vault/vault.sqlite", lambda copy: forget_later_loads(copy, loads, since, head))
        for path in ("warehouse/verifications.jsonl", "format.json"):
            if (self.data_dir / path).exists():
                self._file(path)
        self._inventory()
        files = sorted(self.files.values(), key=lambda file: file.path)
        content = comparing.BackupManifest(name, started.isoformat(), self._base_url(), files, release)
        with suppress(VaultError):  # it has no vault, or its keys are not set
            seed, _ = ledger_key(self.settings)
            content = msgspec.structs.replace(content, signature=comparing.signature_of(content, seed))
        comparing.sync_tree(self.draft)
        text = msgspec.json.format(msgspec.json.encode(content), indent=1)
        write_whole(self.draft / comparing.MANIFEST, text + b"\n")
        add_to_log(log, (), [name])  # first: a restore needs a log that names the backup
        done = self.draft.rename(self.folder / name)
        sync(self.folder)
        total = sum(file.bytes for file in self.files.values())
        try:
            record_backup(self.data_dir, LastBackup(started, str(done), total))
        except OSError as error:
            why = f"{done} is complete; that it was taken could not be noted in {self.data_dir} ({error.strerror})"
            raise comparing.BackupError(f"{why}, so `ordermart status` does not know of it") from None
        doomed = comparing.backups(self.folder)[:-keep] if keep else []
        for each in doomed:
            shutil.rmtree(each.rename(each.with_name(comparing.UNFINISHED + each.name)))
        is_signed = bool(content.signature)
        return BackedUp(done, len(self.files), self.copied, self.bytes, len(doomed), is_signed)

    def _ledger(self) -> None:
        """Copy the entries, then the row files that they name: an entry is written after its rows."""
        if not (self.data_dir / "ledger" / "ledger.jsonl").exists():
            return
        self._file("ledger/ledger.jsonl")
        for path in sorted((self.data_dir / "ledger").glob("[!.]*.parquet")):
            self._file(f"ledger/{path.name}", is_final=True)

    def _raw(self) -> set[str]:
        """Copy the raw files in force, and return their loads; begin again if a merge took some away."""
        raw = self.data_dir / "raw"
        for path in sorted([*raw.glob("backfill-*.jsonl"), *raw.glob("service/*.json")]):
            self._file(f"raw/{path.relative_to(raw)}")
        for name in ("source.json", "erasures.json"):
            if (raw / name).exists():
                self._file(f"raw/{name}")
        loads: set[str] = set()
        for number, kind in enumerate(KINDS, 1):
            for attempt in range(_ATTEMPTS):
                try:
                    loads |= self._raw_of(kind)
                    break
                except FileNotFoundError:
                    if attempt + 1 == _ATTEMPTS:
                        raise
                    self._forget(f"raw/documents/{kind}/", f"raw/observations/{kind}/", f"raw/merged-{kind}.json")
            self.progress("copying raw files, by kind", number, len(KINDS))
        return loads

    def _raw_of(self, kind: str) -> set[str]:
        manifest = self.data_dir / "raw" / f"merged-{kind}.json"
        while True:
            before = (manifest.read_bytes(), manifest.stat().st_mtime_ns) if manifest.exists() else None
            files = raw_files(self.data_dir, kind)
            paths = [file.path for area in files for file in area if area is files.observations or file.path.exists()]
            if before is None or manifest.read_bytes() == before[0]:
                break
        if before is None and manifest.exists():
            raise FileNotFoundError(manifest)  # the first merge was just done: list again
        for path in paths:
            self._file(str(path.relative_to(self.data_dir)), is_final=True)
        if before is not None:
            size, digest = comparing.write_content(BytesIO(before[0]), self.draft / "raw" / manifest.name, before[1])
            self._add(comparing.BackupFile(f"raw/{manifest.name}", size, digest, before[1]))
        return set(files.load_ids)

    def _file(self, path: str, *, is_final: bool = False) -> None:
        """Copy a file, or link the last backup's; raise BackupError for one that never changes and did."""
        source, target = self.data_dir / path, self.draft / path
        stat, known = source.stat(), self.known.get(path)
        if known and (known.bytes, known.modified_ns) == (stat.st_size, stat.st_mtime_ns) and self._link(path, target):
            self.files[path] = known
            return
        size, digest = comparing.copy_file(source, target)
        if is_final:
            first = self.inventory.files.get(path) or (known and (known.bytes, known.sha256))
            if first and first != (size, digest):
                raise comparing.BackupError(f"{source} changed while it was copied: run `ordermart backup` again")
        self._keep(path, digest)

    def _database(self, path: str, change: Callable[[Path], None] | None = None) -> None:
        """Copy an SQLite file as of now, change the copy, and link the last backup's if it is the same."""
        source, target = self.data_dir / path, self.draft / path
        if not source.exists():
            return
        comparing.copy_database(source, target)
        if change:
            change(target)
        self._keep(path, file_hash(target))

    def _keep(self, path: str, digest: str) -> None:
        """Count a copy, or replace it by a link to the last backup's file if that is the same."""
        target, known = self.draft / path, self.known.get(path)
        same = target.with_name(target.name + comparing.UNFINISHED)
        if known is not None and known.sha256 == digest and self._link(path, same):
            same.replace(target)
            self.files[path] = known
        else:
            stat = target.stat()
            self._add(comparing.BackupFile(path, stat.st_size, digest, stat.st_mtime_ns))

    def _link(self, path: str, target: Path) -> bool:
        if self.last is None or file_hash(self.last / path) != self.known[path].sha256:
            return False
        return comparing.link(self.last / path, target)

    def _inventory(self) -> None:
        for name, store in self.inventory.stores.items():
            copy = self.draft / name
            why = "missing" if not copy.exists() else inventory.why_not_continued(copy, store)
            damaged = inventory.damaged_parts(copy, name, store, store.parts)
            why = why or "; ".join(f"{part}: {why}" for part, why in damaged)
            if why:
                raise comparing.BackupError(f"{self.data_dir / name} changed while it was copied ({why}): run it again")
        files = {path: (file.bytes, file.sha256) for path, file in self.files.items() if path in self.inventory.files}
        path = self.draft / inventory.INVENTORY
        inventory.write_copy(path, inventory.Inventory(0, files, self.inventory.stores, self.inventory.ledger))
        self._keep(inventory.INVENTORY, file_hash(path))

    def _add(self, file: comparing.BackupFile) -> None:
        self.files[file.path] = file
        self.copied += 1
        self.bytes += file.bytes

    def _forget(self, *prefixes: str) -> None:
        for path in [path for path in self.files if path.startswith(prefixes)]:
            del self.files[path]
            (self.draft / path).unlink(missing_ok=True)

    def _base_url(self) -> str:
        try:
            content = (self.draft / "raw" / "source.json").read_bytes()
        except FileNotFoundError:
            return ""
        return msgspec.json.decode(content, type=dict[str, str]).get("base_url", "")


def _since(started: dt.datetime) -> str:
    """Return the least load_id of a load that may have been committed since then."""
    return f"{started - _DAY:%Y%m%dT%H%M%S%f}"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / "backup.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise comparing.BackupError(f"another backup into {folder} is under way: wait for it to end") from None
        yield
