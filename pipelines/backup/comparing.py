"""Compare a data folder with its inventory: name each file that is missing, damaged or older; mend what can be derived.

Sizes, small files, the ledger's chain and the marks of both stores are compared each time. Of the rest a share is read,
so that a month reads everything; what was not read is counted.

A backup is a folder below the one that the user names, complete in itself; it counts once it has its name. Its
manifest, the last file written, has every file with size and hash, and the row hashes of the release of that time.
Files are copied durably, with hash and time; one that an earlier backup holds already is linked.
"""

import base64
import datetime as dt
import hashlib
import os
import pwd
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pipelines import inventory
from pipelines.clock import utc_now
from pipelines.durable import sync
from pipelines.landing.data_folder import FORMATS, notes_of
from pipelines.landing.raw_folder import Merged, MergedLoads, is_merged, loads_of, names, pair, write_manifest
from pipelines.ledger import LedgerEntry, LedgerError, ledger_of
from pipelines.ledger.entries import User
from pipelines.ledger.signed_head import check_heads, signing_ledger
from pipelines.notify import last_backup
from pipelines.privacy import LOG, erasure_log
from pipelines.record import Verdict
from pipelines.settings import Settings
from pipelines.vault import VaultError, key_sha256, open_vault

_BLOCK = 1 << 20


class BackupError(Exception):
    """Nothing was backed up or restored; the message says why and what to do."""


def copy_file(source: Path, target: Path) -> tuple[int, str]:
    """Copy a file as it is now, synced, with its time of modification; return its size and SHA-256."""
    with source.open("rb") as file:
        return write_content(file, target, os.fstat(file.fileno()).st_mtime_ns)


def write_content(content: BinaryIO, target: Path, modified_ns: int) -> tuple[int, str]:
    """Write a file, synced, with a time of modification; return its size and SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as copy:
        while block := content.read(_BLOCK):
            digest.update(block)
            size += len(block)
            copy.write(block)
        copy.flush()
        os.fsync(copy.fileno())
    os.utime(target, ns=(modified_ns, modified_ns))
    return size, digest.hexdigest()


def link(earlier: Path, target: Path) -> bool:
    """Link a file of an earlier backup into a new one; return whether the file system could."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.link(earlier, target)
    except OSError:
        return False
    return True


def copy_database(source: Path, target: Path) -> None:
    """Copy an SQLite file as of its last commit, while others write to it, into one file without a log."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with closing(sqlite3.connect(source, timeout=30)) as db, closing(sqlite3.connect(target)) as copy:
        db.backup(copy)
        copy.execute("pragma journal_mode = delete")
    target.chmod(0o600)


def sync_tree(folder: Path) -> None:
    """Sync every folder of a tree; its files were synced when they were written."""
    for path in (*(each for each in folder.rglob("*") if each.is_dir()), folder):
        sync(path)


MANIFEST = "manifest.json"
UNFINISHED = ".unfinished-"
FORMAT = 1
_SIGNED = b"ordermart/backup\n"


class BackupFile(msgspec.Struct, frozen=True):
    """A file by its path, the same in the backup and in the data folder. `modified_ns` is the original's."""

    path: str
    bytes: int
    sha256: str
    modified_ns: int


class Rows(msgspec.Struct, frozen=True):
    """The rows of a table: their number, and a sum of their hashes that does not depend on their order."""

    count: int
    hashes: str


class ReleaseRows(msgspec.Struct, frozen=True):
    """The release that was current when the backup began: its loads, what shaped its tables, and their rows."""

    id: str
    load_ids: list[str]
    fingerprint: dict[str, str]
    sources: dict[str, str]
    tables: dict[str, Rows]


class BackupManifest(msgspec.Struct, frozen=True):
    """What a backup holds. `base_url` is the service that the data came from, "" if nothing was fetched yet.

    The key that signs the ledger's head signs all of it; "" of older versions, and without the vault's keys.
    """

    id: str
    taken_at: str
    base_url: str
    files: list[BackupFile]
    release: ReleaseRows | None
    format: int = FORMAT
    signature: str = ""


def signature_of(manifest: BackupManifest, seed: bytes) -> str:
    """Return the signature of a manifest."""
    content = msgspec.json.encode(msgspec.structs.replace(manifest, signature=""))
    return base64.b64encode(Ed25519PrivateKey.from_private_bytes(seed).sign(_SIGNED + content)).decode()


def backups(folder: Path) -> list[Path]:
    """Return the complete backups in a folder, oldest first."""
    return [] if not folder.is_dir() else sorted(each.parent for each in folder.glob(f"[!.]*/{MANIFEST}"))


def name_after(last: Path | None) -> dt.datetime:
    """Return the earliest time for the next backup's name: just after the last, also if the clock was set back."""
    if last is None:
        return dt.datetime.min.replace(tzinfo=dt.UTC)
    try:
        taken = dt.datetime.strptime(last.name, "%Y%m%dT%H%M%S%f").replace(tzinfo=dt.UTC)
    except ValueError:
        return dt.datetime.min.replace(tzinfo=dt.UTC)
    return taken + dt.timedelta(microseconds=1)


def read_manifest(backup: Path) -> BackupManifest:
    """Return the manifest of a backup; raise BackupError if it cannot be read, or a later version wrote it."""
    path = backup / MANIFEST
    try:
        content = path.read_bytes()
        written = msgspec.json.decode(content).get("format")
        if isinstance(written, int) and written > FORMAT:
            advice = "install a later version"
            raise BackupError(f"{path} has format {written}, this version reads up to {FORMAT}: {advice}")
        return msgspec.json.decode(content, type=BackupManifest)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}; use another backup of that folder") from None
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError):
        raise BackupError(f"{path} is damaged: use another backup of that folder") from None


def backups_holding(data_dir: Path, entry: LedgerEntry | None) -> list[Path]:
    """Return the backups, in the folder of the last one, whose vault has a key of a customer of an erasure."""
    last = last_backup(data_dir)
    if last is None or entry is None:
        return []
    erased = set(entry.body["customer_sha256"])
    return [each for each in backups(Path(last.path).parent) if _holds(each / "vault" / "vault.sqlite", erased)]


def _holds(vault: Path, erased: set[str]) -> bool:
    if not vault.exists():
        return False
    try:
        with closing(sqlite3.connect(f"file:{vault}?mode=ro&immutable=1", uri=True)) as db:
            rows = db.execute("select customer_key from customers where wrapped is not null")
            return any(key_sha256(key) in erased for (key,) in rows)
    except sqlite3.Error:
        return True  # it cannot be looked at


ROUND = dt.timedelta(days=31)
LEDGER = "ledger/ledger.jsonl"
_NIGHTS = 28  # in which everything is read once
_TALLY = "tally"  # of the vault's rows
_LEAST_SECONDS = 2.0  # of reading, so that a small folder is read as a whole each night
_LOST = {  # beginning of a path → the loss with it
    "raw/documents": "documents that the service may no longer have",
    "raw/observations": "when documents were observed, and with what verdict",
    "raw/merged-": "which files hold the loads of past days; it is made again from these files",
    "raw/service": "counts of that month's requests",
    "raw/source.json": "which service the data came from",
    "raw/erasures.json": "which erasures were applied: all are applied again",
    "format.json": "the formats of the folder",
    "ledger": "closes, restatements, control totals, decisions and erasures",
    "runs": "how that run ended",
    "notify": "which alarms were sent, or how the last runs ended",
    "warehouse/verifications": "which parts of the warehouse were verified",
    "inbox": "ids that wait to be fetched, and the log of webhooks",
    "vault": "personal data, rejected bodies and customers' keys",
    "inventory": "nothing, as long as its other copy is right",
}


class DamageError(Exception):
    """Files are damaged, and going on would make it worse; the message names them and says what to do."""


@dataclass(frozen=True)
class Damage:
    """A file, its fault, and the fix. A night stops for it if going on would make it worse."""

    path: str
    what: str
    fix: str
    stops: bool = False
    parts: tuple[str, ...] = ()
    is_mended: bool = False
    is_unreadable: bool = False  # nobody knows whether it is damaged

    def sentence(self) -> str:
        """Name the file, the damage, the loss and the fix."""
        if self.is_unreadable:
            return f"{self.path}: {self.what}. {self.fix}."
        lost = next(text for start, text in _LOST.items() if self.path.startswith(start))
        return f"{self.path}: {self.what}. Lost: {lost}. {self.fix}."


@dataclass
class Compared:
    """What was found, how many files and parts of stores were read, and what was not."""

    damages: list[Damage] = field(default_factory=list)
    compared: int = 0
    read: int = 0
    unread: int = 0
    overdue: str = ""
    untallied: str = ""  # why the vault's rows could not be compared with their tally

    def assess(self) -> Verdict:
        """Whether none is damaged; parts that are read another night count as unread, unless they are overdue."""
        wrong = [damage.sentence() for damage in self.damages]
        unchecked = [self.overdue] if self.overdue else []
        if not self.compared and not wrong:
            unchecked.append("no inventory says what must be there; `ordermart run` writes one")
        return Verdict({"compared": self.compared, "read in full": self.read}, wrong, unchecked)

    def sentence(self) -> str:
        """Return what was looked at and what was not."""
        left = f"; {self.unread:,} were not read this time, only their sizes and marks" if self.unread else ""
        left += f"; the vault's rows were not compared with their tally: {self.untallied}" if self.untallied else ""
        count = sum(not damage.is_unreadable for damage in self.damages)
        found = f"{count:,} damaged" if count else "none damaged"
        if unread := len(self.damages) - count:
            return f"{unread:,} files cannot be read, and nothing was compared"
        return f"{self.compared:,} files and parts compared, {self.read:,} read in full: {found}{left}"


def compare(settings: Settings, *, seconds: float | None = None, notes_progress: bool = False) -> Compared:
    """Compare the data folder with its inventory, reading for at most `seconds`; None: everything.

    With `notes_progress` the next one goes on where this one stopped, and damaged parts are not recorded as right.
    """
    data_dir, found = settings.data_dir, Compared()
    if not (unreadable := list(_unreadable(data_dir, (inventory.INVENTORY, inventory.COPY)))):
        with suppress(inventory.InventoryError):
            expected = inventory.read_inventory(data_dir)
            unreadable += _unreadable(data_dir, (*expected.files, *expected.stores, LEDGER))
    if unreadable:
        found.damages += unreadable
        return found
    try:
        expected = inventory.read_inventory(data_dir)
    except inventory.InventoryError as error:
        found.damages.append(Damage(inventory.INVENTORY, str(error), "Nothing else could be compared", stops=True))
        return found
    if not expected.no and not inventory.is_expected(data_dir):
        return found  # nothing was ever written, or an older version did: the next run records it
    found.damages += [*_copies(data_dir, expected), *_files(data_dir, expected), *_stores(data_dir, expected)]
    found.damages += _ledger(settings)
    found.compared = len(expected.files) + len(expected.stores) + 1
    known = {damage.path for damage in found.damages}
    _read(settings, expected, known, seconds, found)
    _give_fixes(data_dir, expected, found)
    if notes_progress:
        _note(data_dir, expected, found)
    last = expected.round_ended_at or expected.round_began_at
    if found.unread and last and utc_now() - last > ROUND:
        found.overdue = (
            f"raw and vault were last read in full before {last:%Y-%m-%d}; raise [verify] read_seconds, which lets "
            f"{found.read:,} of {found.read + found.unread:,} files and parts be read a night"
        )
    return found


def _unreadable(data_dir: Path, names: Iterable[str]) -> Iterator[Damage]:
    """Yield the files that are there and that this user may not read, or of stores not write."""
    for name in names:
        path = data_dir / name
        if os.access(path, os.R_OK | (os.W_OK if name in inventory.STORES else 0), effective_ids=True):
            continue
        try:
            found = path.stat()
        except PermissionError:
            path = next(each for each in path.parents if os.access(each.parent, os.X_OK, effective_ids=True))
            found = path.stat()
        except OSError:
            continue  # it is missing
        try:
            owner, me = (pwd.getpwuid(uid).pw_name for uid in (found.st_uid, os.geteuid()))
        except KeyError:
            owner, me = str(found.st_uid), str(os.geteuid())
        what = f"it cannot be read and written by {me}: {path} belongs to {owner}, with mode {found.st_mode & 0o7777:o}"
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            fix = f"{data_dir} is mounted read-only: mount it for writing"
        elif found.st_uid == os.geteuid():
            fix = f"chmod -R u+rwX {data_dir}"
        else:
            fix = f"sudo chown -R {me} {data_dir}"
        yield Damage(name, what, f"Nothing is lost by that: {fix}", stops=True, is_unreadable=True)


def _copies(data_dir: Path, expected: inventory.Inventory) -> Iterator[Damage]:
    for name in (inventory.INVENTORY, inventory.COPY):
        copy = inventory.read_copy(data_dir / name)
        if copy is None or copy.no != expected.no:
            what = "an older version" if copy else "damaged" if (data_dir / name).exists() else "missing"
            yield Damage(name, what, "The next run writes it again from the other copy")


def _files(data_dir: Path, expected: inventory.Inventory) -> Iterator[Damage]:
    """Yield files that are missing or of another size, and small ones of another content."""
    for name, noted in sorted(expected.files.items()):
        if why := inventory.fault(data_dir / name, noted):
            yield Damage(name, why, "")


def _stores(data_dir: Path, expected: inventory.Inventory) -> Iterator[Damage]:
    for name, store in expected.stores.items():
        is_vault = name == inventory.VAULT
        if not (data_dir / name).exists():
            yield Damage(name, "missing", "", stops=is_vault)
        elif why := inventory.why_not_continued(data_dir / name, store):
            yield Damage(name, why, "", stops=is_vault)


def _ledger(settings: Settings) -> Iterator[Damage]:
    try:
        check_heads(settings, ledger := ledger_of(settings.data_dir))
        noted = inventory.read_inventory(settings.data_dir).files
        for entry in ledger.entries():
            if (name := f"ledger/{entry.file}") in noted and noted[name][1] != entry.file_sha256:
                raise LedgerError(f"the inventory's note of {name} is not that of entry {entry.no}")
    except (LedgerError, OSError) as error:
        yield Damage(LEDGER, str(error), "", stops=True)


def _read(
    settings: Settings, expected: inventory.Inventory, known: set[str], seconds: float | None, found: Compared
) -> None:
    """Read files and parts of stores from where the last night stopped, until the time is used or all are read."""
    data_dir = settings.data_dir
    units = {name: noted[0] for name, noted in expected.files.items() if not inventory.is_small(name)}
    for name, store in expected.stores.items():
        if (data_dir / name).exists():
            size = (data_dir / name).stat().st_size
            units[f"{name}#"] = size
            units |= {f"{name}#{part}": size // len(store.parts) for part in store.parts}
            units |= {f"{name}#{_TALLY}": size} if name == inventory.VAULT else {}
    units = {name: size for name, size in units.items() if name.partition("#")[0] not in known}
    after = [name for name in sorted(units) if name > expected.read_until]
    order = [*after, *(name for name in sorted(units) if name <= expected.read_until)]
    began, done, share = time.monotonic(), 0, sum(units.values()) / _NIGHTS
    for number, unit in enumerate(order):
        spent = time.monotonic() - began
        if seconds is not None and (spent >= seconds or (done > share and spent > _LEAST_SECONDS)):
            found.unread = len(order) - number
            if number >= len(after) and after:
                expected.round_ended_at = utc_now()
            return
        found.damages += _read_one(settings, expected, unit, found)
        found.read, done = found.read + 1, done + units[unit]
        expected.read_until = unit
    expected.round_ended_at, expected.read_until = utc_now(), ""


def _read_one(settings: Settings, expected: inventory.Inventory, unit: str, found: Compared) -> Iterator[Damage]:
    name, is_store, part = unit.partition("#")
    path = settings.data_dir / name
    try:
        if not is_store:
            if why := inventory.fault(path, expected.files[name], reads=True):
                yield Damage(name, why, "")
        elif not part:
            if why := inventory.structure(path):
                yield Damage(name, f"SQLite reports: {why}", "", stops=name == inventory.VAULT)
        elif part == _TALLY:
            with open_vault(settings) as vault:  # only the keys can tell
                for why in vault.tally.broken():
                    yield Damage(name, f"rows were changed without its keys: {why}", "")
        else:
            for damaged, why in inventory.damaged_parts(path, name, expected.stores[name], [part]):
                yield Damage(name, f"{_spoken(damaged)}: {why}", "", parts=(damaged,))
    except VaultError as error:
        found.untallied = str(error)
    except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
        yield Damage(name, f"it cannot be read ({error})", "")


def _spoken(part: str) -> str:
    """Return a part of a store as words: its table, and which of its rows."""
    table, *values = part.split("/")
    words = table.replace("_", " ")
    if not values:
        return words
    first = int(values[-1]) << 12
    return f"{words} of {' '.join([*values[:-1], ''])}{max(first, 1):,} to {first + 4095:,}"


def _give_fixes(data_dir: Path, expected: inventory.Inventory, found: Compared) -> None:
    """Add to each damage without one what to do: from which backup a file comes back, or the folder."""
    if all(damage.fix for damage in found.damages):
        return
    last = last_backup(data_dir)
    folder = Path(last.path).parent if last else None
    held = []
    for backup in reversed(backups(folder) if folder else []):
        try:
            held.append((backup, {file.path: (file.bytes, file.sha256) for file in read_manifest(backup).files}))
        except BackupError:
            continue
    accept = 'to go on without it, `ordermart inventory --accept "REASON"`'
    restore = f"Restore {held[0][0]} into an empty folder with `ordermart restore`" if held else "There is no backup"
    for place, damage in enumerate(found.damages):
        if damage.fix:
            continue
        noted = expected.files.get(damage.path)
        source = next((backup for backup, files in held if noted and files.get(damage.path) == noted), None)
        fix = f"Copy it back: cp -p {source / damage.path} {data_dir / damage.path}" if source else restore
        rest = "" if damage.path.startswith("ledger/") else f"; {accept}"
        found.damages[place] = Damage(damage.path, damage.what, fix + rest, damage.stops, damage.parts)


def _note(data_dir: Path, read: inventory.Inventory, found: Compared) -> None:
    """Remember where reading stopped, and which parts are damaged: they are not recorded again."""
    with inventory.changing(data_dir) as expected:
        expected.read_until, expected.round_ended_at = read.read_until, read.round_ended_at
        expected.round_began_at = expected.round_began_at or utc_now()
        for name in inventory.STORES:
            if store := expected.stores.get(name):
                new = {part for damage in found.damages if damage.path == name for part in damage.parts}
                store.damaged = sorted({*store.damaged, *new} if found.unread else new)


ACT = "loss_accepted"
_SET_ASIDE = ("raw/service/", "raw/erasures.json", "notify/", "runs/", "warehouse/")


def mend(settings: Settings, *, seconds: float) -> Compared:
    """Compare the data folder with its inventory, and mend what can be; return what was found, mended or not.

    The caller holds the run lock. What was mended says so; a store or a raw file is never changed.
    """
    inventory.settle(settings.data_dir)
    found = compare(settings, seconds=seconds, notes_progress=True)
    found.damages = [each if each.is_unreadable else _mended(settings, each) for each in found.damages]
    return found


def accept_losses(settings: Settings, reason: str, user: User) -> Compared:
    """Record present files as those that must be there, and why in the ledger; raise LedgerError if it is damaged."""
    found = compare(settings)
    for damage in found.damages:
        if damage.is_unreadable:
            raise DamageError(f"nothing was accepted, since not all can be read: {damage.sentence()}")
        if damage.path.startswith("ledger/"):
            raise LedgerError(f"nothing was accepted: {damage.what}")
    if any(damage.path == inventory.VAULT for damage in found.damages):
        with suppress(VaultError), open_vault(settings) as vault:
            vault.accept_rows()
    inventory.accept(settings.data_dir)
    lost = [f"{damage.path}: {damage.what}" for damage in found.damages]
    signing_ledger(settings).append(ACT, {"reason": reason, "lost": lost, **user.body})
    return found


def _mended(settings: Settings, damage: Damage) -> Damage:
    """Mend one damage if it can be, and say how; return others as they are."""
    data_dir, name = settings.data_dir, damage.path
    if name in (inventory.INVENTORY, inventory.COPY) and not damage.stops:
        inventory.write_inventory(data_dir, inventory.read_inventory(data_dir))
        return _done(damage, "It was written again from the other copy")
    if name == inventory.WORK_LIST and not damage.parts:
        with inventory.changing(data_dir) as expected:
            expected.stores.pop(inventory.WORK_LIST, None)
        return _done(
            damage, "What raw knows to be unfinished is due again; give files of order ids again", is_mended=False
        )
    for content in _known(settings, name):
        if inventory.is_noted(data_dir, name, content):
            inventory.write_noted(data_dir, data_dir / name, content)
            return _done(damage, "It was written again: its content is known")
    if name.startswith("raw/merged-"):
        return _with_manifest(data_dir, damage)
    if name.startswith(_SET_ASIDE):
        path = data_dir / name
        if is_there := path.exists():
            path.replace(path.with_name(path.name + ".damaged"))
        inventory.forget_files(data_dir, [path])
        return _done(damage, f"It was set aside as {path.name}.damaged" if is_there else "A new one is begun")
    return damage


def _known(settings: Settings, name: str) -> list[bytes]:
    """Return what a file can hold, for those whose content follows from settings and code."""
    if name == "format.json":
        return [msgspec.json.encode(FORMATS)]
    if name == "raw/source.json":
        last = last_backup(settings.data_dir)
        log = erasure_log(settings) or (Path(last.path).parent / LOG if last else None)
        return notes_of(settings, log)
    return []


def _with_manifest(data_dir: Path, damage: Damage) -> Damage:
    """Make the list of merged files again, from what each of them says that it holds."""
    kind = damage.path.removeprefix("raw/merged-").removesuffix(".json")
    noted = inventory.read_inventory(data_dir).files
    merged = []
    try:
        for name in names(data_dir, "observations", kind):
            path = pair(data_dir, kind, name)[1]
            if is_merged(name) and str(path.relative_to(data_dir)) in noted:
                merged.append(Merged(name, tuple(sorted(loads_of(path)))))
    except (OSError, pa.ArrowException):
        return damage
    write_manifest(data_dir, kind, MergedLoads(tuple(merged)))
    return _done(damage, "It was made again from the files that it names")


def _done(damage: Damage, how: str, *, is_mended: bool = True) -> Damage:
    return replace(damage, fix=how, stops=False, is_mended=is_mended)
