"""Copy a release to object storage (S3, GCS, Azure, or a folder), and read it from there.

Below the prefix of a URL:

    data/core/orders/created_month=2026-10/<sha256>.parquet   a file, named by its content: uploaded once
    data/database/<sha256>                                    a piece of ordermart.duckdb
    releases/<id>/manifest.json, athena.sql, …                what a release consists of; never changed
    current.json                                              the manifest of the current release

A manifest is written before the files that it names, so that a file which none names is another's and is never removed.
`current.json` is written last, in one conditional PUT: readers see the old release or the new one, and the second of
two writers learns that it lost. What a kill leaves is used by the next copy, or removed by a copy after a day.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec.structs import replace

from pipelines.clock import utc_now
from pipelines.record import Verdict
from pipelines.settings import Settings, SettingsError
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.descriptions import external_tables
from pipelines.warehouse.catalogue.meta_tables import META, REFERENCE
from pipelines.warehouse.release.copies import Copied, CopyError, release_to_copy, remember_copy
from pipelines.warehouse.release.manifest import DATABASE, ReleaseManifest

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az", "abfss", "file")
CURRENT = "current.json"
_PIECE = 1 << 20  # bytes of the database: what a changed order changes is scattered over it
_LOST = f"another copy finished first, and {CURRENT} names its release: copy again"
_AT_ONCE = 8  # uploads; with pieces and parts of 5 MiB this bounds memory to some 100 MiB
_STATEMENTS = re.compile(r"releases/([^/]+)/(?:\w+\.sql|symlinks/.+/symlink\.txt)")
_GRACE = dt.timedelta(days=1)  # in which a reader may still use a release, and another writer what it uploads


class StoredObject(msgspec.Struct, frozen=True):
    """An object below the prefix: its key, size and SHA-256; a Parquet file has its table and its month."""

    key: str
    bytes: int
    sha256: str
    table: str = ""
    month: str = ""


class StoredRelease(msgspec.Struct, frozen=True):
    """The content of current.json: a release, its objects, and until when earlier releases were current.

    `database` are the pieces of ordermart.duckdb in their order; `tables` has the keys of each table's Parquet files;
    `erasures` is a hash of the erasures that it was built after.
    """

    id: str
    as_of: str
    copied_at: dt.datetime
    tables: dict[str, list[str]]
    files: list[StoredObject]
    database: list[StoredObject]
    earlier: dict[str, dt.datetime] = {}
    erasures: str = ""

    def objects(self) -> dict[str, StoredObject]:
        """Return the objects of the release by key."""
        return {each.key: each for each in (*self.files, *self.database)}


class CheckedCopy(NamedTuple):
    """How many objects of a copied release were read, and a sentence for each that is missing or changed."""

    release_id: str
    checked: int
    faults: list[str]

    def assess(self) -> Verdict:
        """Tell whether every object is as the release says; a copy without objects proves nothing."""
        return Verdict({"objects": self.checked}, self.faults, [] if self.checked else ["the copy has no objects"])


def is_storage_url(url: str) -> bool:
    """Tell whether a URL names object storage."""
    return urlsplit(url).scheme in SCHEMES


def copy_to_storage(settings: Settings, url: str, progress: Callable[[str, int, int], None] | None = None) -> Copied:
    """Bring the current release to object storage; return what was uploaded.

    Credentials come from the environment or the machine's role, as obstore finds them. Raise SettingsError for a URL
    with credentials, or without obstore; CopyError if the copy has the release that it had before.
    """
    report = progress or (lambda *_: None)
    release, manifest = release_to_copy(settings)
    with _opened(url) as store:
        known, version = _current(store)
        if known and known.id == manifest.id:
            remember_copy(settings.data_dir, url, manifest.as_of)
            return Copied(manifest.id, url)
        if known is None:
            ours = {key for each, _ in _written_releases(store) for key in each.objects()}
            if any(key not in ours for key, *_ in _listed(store, "data/")):
                raise CopyError(f"{url} has other files below data/: choose another prefix")
        remember_copy(settings.data_dir, url, "")  # a kill after the switch must not hide the copy
        objects, pieces = _objects_of(release, manifest), _pieces_of(release)
        names = dict.fromkeys(each.table for each in objects if each.table)
        tables = {name: [each.key for each in objects if each.table == name] for name in names}
        erasures = manifest.fingerprint.get("the erasures", "")
        stored = StoredRelease(manifest.id, manifest.as_of, utc_now(), tables, objects, pieces, erasures=erasures)
        folder, wanted = f"releases/{manifest.id}", stored.objects()
        store.put(f"{folder}/manifest.json", msgspec.json.encode(stored))
        missing = _missing(store, wanted.values())
        _upload(store, release, manifest, pieces, missing, report)
        if wrong := _missing(store, wanted.values()):
            raise CopyError(f"{wrong[0].key} is missing or incomplete after its upload, of {len(wrong)}: copy again")
        contracts = [*catalogue.release_tables(), *META, *REFERENCE, *(own.table() for own in manifest.own)]
        for name, text in external_tables(url.rstrip("/"), folder, contracts, tables).items():
            store.put(f"{folder}/{name}", text.encode())
        stored = replace(stored, copied_at=utc_now(), earlier=_kept_releases(settings, stored, known))
        content = msgspec.json.format(msgspec.json.encode(stored), indent=1)
        keeps_versions = _switch(store, url, content, version)
        # what a first copy finds is of killed ones, and may be of before an erasure
        _remove_stale(store, stored, at_once=known is None or known.erasures != erasures)
    remember_copy(settings.data_dir, url, manifest.as_of)
    note = " The bucket keeps versions: what is removed stays in it as old versions." if keeps_versions else ""
    return Copied(manifest.id, url, objects=len(missing), bytes=sum(each.bytes for each in missing), note=note)


def check_copy(url: str) -> CheckedCopy:
    """Read every object of the release that is current at a URL, and compare sizes and hashes with its manifest."""
    with _opened(url) as store:
        objects = (stored := _there(store, url)).objects()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            faults = [fault for fault in pool.map(functools.partial(_fault, store), objects.values()) if fault]
    return CheckedCopy(stored.id, len(objects), faults)


def download_database(url: str) -> Path:
    """Return ordermart.duckdb of the release that is current at a URL, in the user's cache; it is downloaded once."""
    with _opened(url) as store:
        stored = _there(store, url)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ordermart" / "releases"
        whole = hashlib.sha256("".join(piece.sha256 for piece in stored.database).encode()).hexdigest()
        file = cache / f"{whole}.duckdb"
        if file.exists():
            return file
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as place:
            draft = Path(place, file.name)
            with draft.open("wb") as opened, ThreadPoolExecutor(_AT_ONCE) as pool:
                contents = pool.map(lambda each: bytes(store.get(each.key).bytes()), stored.database)
                for piece, content in zip(stored.database, contents, strict=True):
                    if hashlib.sha256(content).hexdigest() != piece.sha256:
                        raise CopyError(f"{url}/{piece.key} is damaged: copy the release again")
                    opened.write(content)
            draft.chmod(0o444)
            draft.replace(file)
        for other in {*cache.glob("*.duckdb")} - {file}:
            other.unlink(missing_ok=True)
        return file


@contextmanager
def _opened(url: str) -> Iterator[ObjectStore]:
    """Give the store of a URL; every error of it becomes a CopyError of one sentence."""
    try:
        from obstore import exceptions, store  # noqa: PLC0415 -- an extra
    except ImportError:
        raise SettingsError("object storage needs obstore: pip install 'ordermart[storage]'") from None
    parts = urlsplit(url)
    container = parts.username if parts.scheme != "abfss" else None  # whose URLs are abfss://container@account…
    if container or parts.password or parts.query:
        place = f"{parts.scheme}://{parts.hostname or ''}"
        raise SettingsError(f"{place}: give credentials by the environment, not in a URL")
    options: dict[str, Any] = {"mkdir": True, "automatic_cleanup": True} if parts.scheme == "file" else {}
    try:
        yield store.from_url(url, **options)
    except (exceptions.BaseError, OSError) as error:
        why = getattr(error, "strerror", None) or _why(error)
        raise CopyError(f"{url} has the release that it had: {why}") from None


_CAUSES = {  # what a store, or the library, says → what to do; the first that is found
    "no ?such ?bucket|(bucket|container) ?(does not exist|not ?found)": "the bucket does not exist",
    "expired|token ?refresh": "the credentials have expired: renew them",
    "region|authorizationheadermalformed|permanentredirect|locationconstraint": (
        "the bucket is in another region: set AWS_REGION"
    ),
    "quota|insufficient ?storage|storage ?full|code: 507|no space left": "the storage is full",
    "account must be specified": "there is no account: set AZURE_STORAGE_ACCOUNT_NAME",
    "invalid(accesskeyid|token|authenticationinfo)|signaturedoesnotmatch|authenticationfailed|code: 401": (
        "the credentials are not valid"
    ),
    "accessdenied|code: 403": "access is denied: the role needs to list, read, write and delete below the prefix",
}
# Keys, places and a store's own text may hold any of these words.
_ASIDE = re.compile(r"<(?s:.)*>|\S*/\S+")


def _why(error: Exception) -> str:
    """Return one sentence about an error of a store: its cause if it is a known one, else what the store answered."""
    text = str(error)
    if any(host in text for host in ("169.254.169.254", "metadata.google")):  # what a machine has its role from
        return "there are no credentials: set them in the environment, or give the machine a role"
    code = "".join(re.findall(r"<Code>(\w+)", text)[:1])
    said = f"{_ASIDE.sub('', text)} {code}".casefold()
    for sign, cause in _CAUSES.items():
        if re.search(sign, said):
            return cause
    if answered := re.search(r"code: (\d+)", said):
        return f"the store answered {answered[1]} {code}".rstrip()
    return next(filter(None, map(str.strip, text.splitlines())), type(error).__name__).partition("?")[0]


def _current(store: ObjectStore) -> tuple[StoredRelease | None, dict[str, str]]:
    """Return the release that current.json names, and the version of that object; None and {} if there is none."""
    try:
        found = store.get(CURRENT)
        version = {name: each for name in ("e_tag", "version") if (each := found.meta[name])}
        return msgspec.json.decode(bytes(found.bytes()), type=StoredRelease), version
    except FileNotFoundError:
        return None, {}
    except msgspec.DecodeError:
        raise CopyError(f"{CURRENT} cannot be read: it is not one of ordermart's; choose another prefix") from None


def _there(store: ObjectStore, url: str) -> StoredRelease:
    """Return the release that current.json names; raise CopyError without one."""
    stored, _ = _current(store)
    if stored is None:
        raise CopyError(f"{url} has no release, as {CURRENT} is missing: run `ordermart copy --to {url}`")
    return stored


def _listed(store: ObjectStore, prefix: str) -> Iterator[tuple[str, int, dt.datetime]]:
    """Yield key, size and time of the objects below a prefix."""
    for some in store.list(prefix):
        yield from ((each["path"], each["size"], each["last_modified"]) for each in some)


def _objects_of(release: Path, manifest: ReleaseManifest) -> list[StoredObject]:
    """Return the objects of a release's files, but for its database."""
    found = []
    for file in manifest.files:
        place = Path(file.path)
        if place.name != DATABASE and (release / place).exists():
            folder = Path("data", *place.parts[1:-1])
            key = (folder / f"{file.sha256}{place.suffix}").as_posix()
            table = ".".join(place.parts[1:3]) if place.suffix == ".parquet" else ""
            found.append(StoredObject(key, file.bytes, file.sha256, table, file.month))
    return found


def _pieces_of(release: Path) -> list[StoredObject]:
    """Return the pieces of a release's database, in their order."""
    with (release / DATABASE).open("rb") as file:
        pieces = [(len(piece), hashlib.sha256(piece).hexdigest()) for piece in iter(lambda: file.read(_PIECE), b"")]
    return [StoredObject(f"data/database/{sha256}", size, sha256) for size, sha256 in pieces]


def _upload(
    store: ObjectStore,
    release: Path,
    manifest: ReleaseManifest,
    pieces: Sequence[StoredObject],
    missing: Sequence[StoredObject],
    progress: Callable[[str, int, int], None],
) -> None:
    """Upload objects, some at once."""
    paths = {file.sha256: release / file.path for file in manifest.files}
    offsets = {piece.key: number * _PIECE for number, piece in enumerate(pieces)}

    def upload(each: StoredObject) -> None:
        if each.key not in offsets:
            store.put(each.key, paths[each.sha256], max_concurrency=2)
            return
        with (release / DATABASE).open("rb") as file:
            file.seek(offsets[each.key])
            store.put(each.key, file.read(each.bytes))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for number, _ in enumerate(pool.map(upload, missing), 1):
            progress("uploading objects", number, len(missing))


def _missing(store: ObjectStore, objects: Iterable[StoredObject]) -> list[StoredObject]:
    """Return the objects that are not listed with their size."""
    there = {key: size for key, size, _ in _listed(store, "data/")}
    return [each for each in objects if there.get(each.key) != each.bytes]


def _switch(store: ObjectStore, url: str, content: bytes, version: dict[str, str]) -> bool:
    """Write current.json if it is still the one that was read; tell whether the bucket keeps versions of it."""
    from obstore import exceptions  # noqa: PLC0415 -- an extra

    mode: Any = version or "create"
    try:
        if urlsplit(url).scheme != "file" or not version:
            return bool(store.put(CURRENT, content, mode=mode)["version"])
        with (Path(unquote(urlsplit(url).path)) / ".lock").open("w") as file:  # a folder compares nothing by itself
            fcntl.flock(file, fcntl.LOCK_EX)
            if store.head(CURRENT)["e_tag"] != version["e_tag"]:
                raise CopyError(_LOST)
            store.put(CURRENT, content)
            return False
    except (exceptions.PreconditionError, exceptions.AlreadyExistsError):
        raise CopyError(_LOST) from None


def _kept_releases(settings: Settings, stored: StoredRelease, known: StoredRelease | None) -> dict[str, dt.datetime]:
    """Return the earlier releases that stay: the newest, and those of the last day; none after an erasure."""
    if known is None or known.erasures != stored.erasures:
        return {}
    now = utc_now()
    earlier = known.earlier | {known.id: now}
    newest = sorted(earlier, reverse=True)[: settings.warehouse.keep_releases - 1]
    return {name: until for name, until in earlier.items() if name in newest or now - until < _GRACE}


def _written_releases(store: ObjectStore) -> Iterator[tuple[StoredRelease, dt.datetime]]:
    """Yield the releases of which manifests were written, current ones or killed, with the times of these."""
    for key, _, at in _listed(store, "releases/"):
        name, _, file = key.removeprefix("releases/").partition("/")
        if file == "manifest.json":
            with contextlib.suppress(msgspec.DecodeError, FileNotFoundError):  # somebody else's, or just removed
                release = msgspec.json.decode(bytes(store.get(key).bytes()), type=StoredRelease)
                if release.id == name:
                    yield release, at


def _remove_stale(store: ObjectStore, stored: StoredRelease, *, at_once: bool) -> None:
    """Remove releases that do not stay; one younger than a day may be another writer's, unless `at_once`."""
    before = utc_now() - (dt.timedelta(0) if at_once else _GRACE)
    written = [*_written_releases(store)]
    stays = {stored.id, *stored.earlier, *(release.id for release, at in written if at > before)}
    gone = {release.id for release, _ in written} - stays
    used = {*stored.objects(), *(key for release, _ in written if release.id in stays for key in release.objects())}
    unused = {key for release, _ in written if release.id in gone for key in release.objects()} - used
    left = [key for key, *_ in _listed(store, "data/") if key in unused] if gone else []
    told = (_STATEMENTS.fullmatch(key) for key, *_ in _listed(store, "releases/"))
    left += [found[0] for found in told if found and found[1] in gone]
    for keys in (left, [f"releases/{name}/manifest.json" for name in gone]):  # a kill leaves what names the rest
        if keys:
            store.delete(keys)


def _fault(store: ObjectStore, each: StoredObject) -> str:
    """Return the fault of an object of a copy, "" for nothing."""
    try:
        digest, size = hashlib.sha256(), 0
        for chunk in store.get(each.key).stream():
            digest.update(chunk)
            size += len(chunk)
    except FileNotFoundError:
        return f"{each.key} is missing"
    if size != each.bytes:
        return f"{each.key} has {size:,} bytes instead of {each.bytes:,}"
    return "" if digest.hexdigest() == each.sha256 else f"{each.key} has another content"
