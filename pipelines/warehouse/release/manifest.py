"""The manifest of a release: rows per table, SHA-256 per file, what code and settings made it; and which are kept.

`damaged_files` compares the files of a release with it. The runs that manifests name decide which releases are removed.
Here is also noted when changes are due for publication.
"""

import datetime as dt
import functools
import hashlib
import importlib.metadata
import shutil
from pathlib import Path

import msgspec

from pipelines.durable import file_hash
from pipelines.record import NIGHT
from pipelines.resources import PACKAGE, resource
from pipelines.settings import Settings
from pipelines.warehouse.own.making import OwnTable

MANIFEST = "manifest.json"
DATABASE = "ordermart.duckdb"


class ReleaseFile(msgspec.Struct, frozen=True):
    """A file of a release, by its path in it.

    A Parquet file names its table, its month ('' where the table is one file) and the commit of the warehouse that
    last changed its content: with the same commit the next release holds the same file.
    """

    path: str
    bytes: int
    sha256: str
    table: str = ""
    month: str = ""
    changed_in: str = ""


class ReleaseManifest(msgspec.Struct, frozen=True):
    """What a release is. `commit` is the warehouse's; `settings` is a hash of the settings without secrets.

    `fingerprint` is what shaped its tables besides what was landed: a hash per thing. `as_of` is `published_at` in full
    precision: no load that began later is in its tables. `sources` are the states of the ledger and logs that it read,
    `shown_in` is the last commit that concerns readers; `run` is night, webhooks, or empty for a build that a person
    asked for. `reference` is a hash of the files of [reference], `models` of those of [models], which made `own`.
    """

    id: str
    published_at: str
    commit: str
    code: dict[str, str]
    settings: str
    rows: dict[str, int]
    checks: dict[str, int]
    files: list[ReleaseFile]
    fingerprint: dict[str, str] = {}
    as_of: str = ""
    shown_in: str = ""
    run: str = ""
    sources: dict[str, str] = {}
    reference: str = ""
    models: str = ""
    own: list[OwnTable] = []


def read_manifest(release: Path) -> ReleaseManifest | None:
    """Return the manifest of a release folder, None where there is none that can be read."""
    try:
        return msgspec.json.decode((release / MANIFEST).read_bytes(), type=ReleaseManifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def write_manifest(release: Path, manifest: ReleaseManifest) -> None:
    """Write the manifest into a release folder that nobody reads yet."""
    (release / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def described(release: Path, path: Path, *, table: str = "", month: str = "", changed_in: str = "") -> ReleaseFile:
    """Return the entry of a file that was just written."""
    return ReleaseFile(str(path.relative_to(release)), path.stat().st_size, file_hash(path), table, month, changed_in)


@functools.cache
def code_version() -> dict[str, str]:
    """Return the version of the package, and a hash of its code and SQL: the same from a checkout and a wheel."""
    digest = hashlib.sha256()
    for top, suffix in ((PACKAGE, "py"), (resource("sql"), "sql")):
        for path in sorted(top.rglob(f"*.{suffix}")):
            digest.update(f"{path.relative_to(top.parent)}\n".encode())
            digest.update(path.read_bytes())
    try:
        version = importlib.metadata.version("ordermart")
    except importlib.metadata.PackageNotFoundError:
        version = "not installed"
    return {"version": version, "sha256": digest.hexdigest()}


def damaged_files(release: Path, *, by_times: bool = False) -> list[str]:
    """Return the paths, within a release, of files that are missing or not as in the manifest.

    A manifest that cannot be read is one of them. A file that was found right is not read again by this process
    unless it changed. With `by_times`, a file of the right size that was not written after its manifest is not read
    at all: that finds what a program did to it, and not what a disk did.
    """
    manifest = read_manifest(release)
    if manifest is None:
        return ["manifest.json"]
    wrong = []
    published = (release / MANIFEST).stat().st_mtime_ns
    for file in manifest.files:
        path = release / file.path
        try:
            stat = path.stat()
        except FileNotFoundError:
            wrong.append(file.path)
            continue
        is_trusted = by_times and stat.st_mtime_ns <= published
        if stat.st_size != file.bytes or (
            not is_trusted and _sha256(path, stat.st_size, stat.st_mtime_ns, stat.st_ino) != file.sha256
        ):
            wrong.append(file.path)
    return wrong


@functools.lru_cache(maxsize=20_000)
def _sha256(path: Path, _size: int, _mtime_ns: int, _inode: int) -> str:
    return file_hash(path)


def deferred_until(published: Path) -> dt.datetime | None:
    """Return when changes that a run for webhooks left unpublished are due, None if there are none."""
    try:
        return dt.datetime.fromisoformat(_deferred(published).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def defer(published: Path, until: dt.datetime) -> None:
    """Record that changes wait for publication until then."""
    _deferred(published).write_text(until.isoformat(), encoding="utf-8")


def clear_publication_due(published: Path) -> None:
    """Record that nothing waits for publication."""
    _deferred(published).unlink(missing_ok=True)


def superfluous(releases: Path, settings: Settings) -> list[Path]:
    """Return the releases to remove, oldest first: not the newest keep_releases nor, of nightly ones, keep_nights."""
    found = sorted((each for each in releases.iterdir() if not each.name.startswith(".")), reverse=True)
    older = found[settings.warehouse.keep_releases :]
    manifests = {each: read_manifest(each) for each in found}
    nights = [each for each, manifest in manifests.items() if manifest and manifest.run == NIGHT]
    kept = nights[: settings.release.keep_nights]
    return sorted(each for each in older if each not in kept)


def _deferred(published: Path) -> Path:
    return published / "publication_due"


UNFINISHED = ".unfinished-"


def make_room(settings: Settings) -> None:
    """Remove what no release needs before a build looks how much room there is. The caller holds the run lock."""
    published = settings.data_dir / "published"
    if (published / "releases").exists():
        sweep(published)
        prune(published, settings)


def sweep(published: Path) -> None:
    """Remove what a killed or failed publication left."""
    for each in (published / "releases").glob(UNFINISHED + "*"):
        shutil.rmtree(each)
    (published / f"{UNFINISHED}current").unlink(missing_ok=True)


def prune(published: Path, settings: Settings) -> None:
    """Remove the releases that settings do not keep, never the current one."""
    current = (published / "current").resolve()
    for old in superfluous(published / "releases", settings):
        if old.resolve() != current:
            remove_release(old)


def remove_release(release: Path) -> None:
    """Remove a release, never the current one; what a kill leaves of it goes with the next publication."""
    gone = release.with_name(UNFINISHED + release.name)
    release.rename(gone)
    shutil.rmtree(gone)
