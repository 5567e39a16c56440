"""Which raw files hold the landed documents: every reader asks here instead of listing folders itself.

A load counts from the moment its observations file has its name. A lock file is held while a load or a merge of one
kind is under way. Raw files never change: the inventory has size and hash of each. A load, or a merge, notes its files
once they count; files in force that nobody noted, such as those of a load that was killed after its commit, are noted
when they are first looked at.

The index, of which documents are stored and the latest of each id, is a cache of the raw files, rebuilt when it is not
theirs. Load ids are times, and the observations of an id are ordered by time: nothing gets a time before that of an
earlier load, although the clock was set back.
"""

import datetime as dt
import fcntl
import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.clock import utc_now
from pipelines.durable import UNFINISHED, make_folder, sync
from pipelines.inventory import fault, forget_files, note_files, read_inventory, write_noted
from pipelines.landing.raw_rows import LOAD_IDS
from pipelines.settings.kinds import KINDS

Area = Literal["documents", "observations"]
Sums = dict[str, tuple[int, str]]
Now = Callable[[], dt.datetime]


class LandingError(Exception):
    """Nothing could be landed; the message says why and what to do, never a payload's value."""


class Lock(AbstractContextManager["Lock"]):
    """Hold a lock file while a load or a merge of one kind is under way; the kernel frees it when a process dies."""

    def __init__(self, path: Path, what: str) -> None:
        make_folder(path.parent)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise LandingError(f"another load of {what} is under way: wait for it to end") from None

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others go on; releasing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


_SUFFIX = ".parquet"


class RawFile(NamedTuple):
    """A Parquet file and the loads whose rows it holds, in order."""

    path: Path
    load_ids: tuple[str, ...]


class RawFiles(NamedTuple):
    """All raw files of one kind, in the order of their first loads."""

    documents: list[RawFile]
    observations: list[RawFile]

    @property
    def load_ids(self) -> list[str]:
        """All loads of the kind, in order."""
        return sorted(load_id for file in self.observations for load_id in file.load_ids)


class Merged(msgspec.Struct, frozen=True):
    """A pair of files into which the pairs of several loads were merged."""

    name: str
    load_ids: tuple[str, ...]


class MergedLoads(msgspec.Struct, frozen=True):
    """Which merged pairs are in force; a load that is in one is read there, wherever else it still stands."""

    merged: tuple[Merged, ...] = ()


def raw_files(data_dir: Path, kind: str) -> RawFiles:
    """Return the raw files of a kind that are in force, each with the loads it holds."""
    manifest = read_manifest(data_dir, kind)
    merged = {load_id for each in manifest.merged for load_id in each.load_ids}
    pairs = [(each.name, each.load_ids) for each in manifest.merged]
    single = (name for name in names(data_dir, "observations", kind) if name not in merged and not is_merged(name))
    pairs += [(name, (name,)) for name in single]
    pairs.sort(key=lambda pair: pair[1])
    folders = (folder(data_dir, area, kind) for area in ("documents", "observations"))
    return RawFiles(*([RawFile(each / (name + _SUFFIX), loads) for name, loads in pairs] for each in folders))


def read_rows(
    data_dir: Path, kind: str, area: Area, columns: tuple[str, ...], loads: Collection[str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yield these columns of the rows that are in force, of all loads or of some, whose files alone are read.

    Documents whose loss was accepted are passed over. Raise RawDamageError, which names the file, where one cannot be
    read.
    """
    wanted = None if loads is None else set(loads)
    for file in getattr(raw_files(data_dir, kind), area):
        if (wanted is not None and not wanted & set(file.load_ids)) or (area == "documents" and not file.path.exists()):
            continue
        with naming_damage(data_dir, file.path):
            table = pq.read_table(file.path, columns=[*columns, "load_id"])
        rows = zip(*(table.column(name).to_pylist() for name in columns), strict=True)
        for row, load_id in zip(rows, table.column("load_id").to_pylist(), strict=True):
            if wanted is None or load_id in wanted:
                yield row


def folder(data_dir: Path, area: str, kind: str) -> Path:
    """Return where the files of a kind stand; `area` is documents or observations."""
    return data_dir / "raw" / area / kind


def pair(data_dir: Path, kind: str, name: str) -> tuple[Path, Path]:
    """Return the documents file and the observations file of a load or of a merge."""
    documents, observations = (folder(data_dir, at, kind) / (name + _SUFFIX) for at in ("documents", "observations"))
    return documents, observations


def names(data_dir: Path, area: str, kind: str) -> list[str]:
    """Return the names of all finished files, in force or not."""
    where = folder(data_dir, area, kind)
    return sorted(path.stem for path in where.glob("*" + _SUFFIX)) if where.is_dir() else []


def is_merged(name: str) -> bool:
    """Tell a merged pair from a load's own by its name."""
    return name.startswith("merged-")


def read_manifest(data_dir: Path, kind: str) -> MergedLoads:
    """Return the manifest of a kind; an empty one where nothing was merged."""
    path = manifest_file(data_dir, kind)
    try:
        return msgspec.json.decode(path.read_bytes(), type=MergedLoads)
    except FileNotFoundError:
        return MergedLoads()
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LandingError(f"{path} is damaged: restore it from a backup") from None


def write_manifest(data_dir: Path, kind: str, manifest: MergedLoads) -> None:
    """Switch the manifest of a kind in one rename."""
    write_noted(data_dir, manifest_file(data_dir, kind), msgspec.json.encode(manifest))


def sweep(data_dir: Path, kind: str) -> None:
    """Remove what a killed load or merge left: unfinished files, documents without observations, merged-away pairs.

    Documents of a load that counted are kept: their observations were lost since, and may be restored.

    Raise LandingError, and remove nothing, when the manifest does not name a merged pair that nothing else replaces.
    """
    counted = {data_dir / name for name in checksums(data_dir)}
    in_force = raw_files(data_dir, kind)
    paths = {file.path for files in in_force for file in files}
    doomed = []
    for area in ("documents", "observations"):
        where = folder(data_dir, area, kind)
        for path in where.iterdir() if where.is_dir() else ():
            if path.name.endswith(UNFINISHED):
                doomed.append(path)
            elif path.suffix == _SUFFIX and path not in paths:
                if is_merged(path.stem) and not loads_of(path) <= set(in_force.load_ids):
                    why = f"{manifest_file(data_dir, kind)} does not name {path.name}, which alone holds some loads"
                    raise LandingError(f"{why}: put the manifest back from a copy")
                if path in counted and not is_merged(path.stem) and path.stem not in in_force.load_ids:
                    continue
                doomed.append(path)
    if doomed:
        forget_files(data_dir, doomed)
    for path in doomed:
        path.unlink()
    for where in {path.parent for path in doomed}:
        sync(where)  # else a loss of power brings them back, with what was erased


def loads_of(path: Path) -> set[str]:
    """Return the loads that a merged file holds, by its footer."""
    held = (pq.read_metadata(path).metadata or {}).get(LOAD_IDS.encode(), b"").decode()
    return set(held.split(","))


def manifest_file(data_dir: Path, kind: str) -> Path:
    """Return where the manifest of a kind is, once anything was merged."""
    return data_dir / "raw" / f"merged-{kind}.json"


_NAMED = 5
_NO_THREAD = "Failed to launch worker thread"  # of Arrow: it did not get to read the file
_AREAS = ("raw/documents/", "raw/observations/", "raw/merged-")


class RawDamageError(LandingError):
    """Files of raw/ are not what was landed; the message names them and says what to do."""


def check_raw(data_dir: Path, *, hashes: bool = False) -> None:
    """Raise RawDamageError where a raw file is missing, or has another size, or hash, than was noted.

    Sizes are compared at the price of listing files; `hashes` reads all of them. New files are noted.
    """
    if not (data_dir / "raw").exists():
        return
    noted = checksums(data_dir)
    wrong = {name: why for name in noted if (why := fault(data_dir / name, noted[name], reads=hashes))}
    in_force = [file.path for kind in KINDS for area in raw_files(data_dir, kind) for file in area]
    observed = {file.path for kind in KINDS for file in raw_files(data_dir, kind).observations}
    new = []
    for path in (path for path in in_force if _name(data_dir, path) not in noted):
        if path.exists():
            wrong[_name(data_dir, path)] = _unreadable(path)
            new.append(path)
        elif path in observed:  # the loss of documents may have been accepted
            wrong[_name(data_dir, path)] = "missing"
    _raise_damage(wrong)
    if new:
        note_files(data_dir, new)


def check_files(data_dir: Path, paths: Iterable[Path]) -> None:
    """Raise RawDamageError where one of these files is missing or does not have the hash that was noted."""
    noted = checksums(data_dir)
    names = {_name(data_dir, path) for path in paths}  # one that is not noted: its load was killed, a build notes it
    _raise_damage({name: fault(data_dir / name, noted[name], reads=True) for name in names & noted.keys()})


@contextmanager
def naming_damage(data_dir: Path, path: Path) -> Iterator[None]:
    """Raise RawDamageError, which names the file, where a raw file cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if _NO_THREAD in str(error):
            raise MemoryError(str(error)) from None
        _raise_damage({_name(data_dir, path): _short(error)})


def checksums(data_dir: Path) -> Sums:
    """Return path below the data folder → size and SHA-256 of the raw files that the inventory has."""
    return {name: noted for name, noted in read_inventory(data_dir).files.items() if name.startswith(_AREAS)}


def _raise_damage(wrong: dict[str, str]) -> None:
    """Raise the error that names the faulty files, those with a reason; without any, do nothing."""
    if not (named := [f"{name} ({why})" for name, why in sorted(wrong.items()) if why]):
        return
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    raise RawDamageError(
        f"raw files are damaged: {', '.join(named[:_NAMED])}{more}. Restore them from a backup; to go on without them "
        'for good, remove them and run `ordermart inventory --accept "REASON"`. Until then the last release stays '
        "current; what is fetched is landed all the same"
    ) from None


def _name(data_dir: Path, path: Path) -> str:
    return str(path.relative_to(data_dir))


def _unreadable(path: Path) -> str:
    try:
        pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        return _short(error)
    return ""


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__


_SCHEMA = """
create table if not exists loads (load_id text primary key) without rowid;
-- One row per distinct document, with the last of its places in the order of all observations of its id.
create table if not exists documents (
    id integer not null, sha256 blob not null,
    observed_at integer not null, is_live integer not null, load_id text not null, seq integer not null,
    primary key (id, sha256)
) without rowid;
-- One row: the latest time at which the service answered, of all loads.
create table if not exists clock (last_live integer not null);
"""
_UPSERT = """
insert into documents values (?, ?, ?, ?, ?, ?)
on conflict (id, sha256) do update set
    observed_at = excluded.observed_at, is_live = excluded.is_live, load_id = excluded.load_id, seq = excluded.seq
where (excluded.observed_at, excluded.is_live, excluded.load_id, excluded.seq)
    > (observed_at, is_live, load_id, seq)
"""
_UNKNOWN_TIME = -(2**63)
_ASKED_AT_ONCE = 500
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)


# A place in the order of all observations of an id: microseconds since 1970 (of unknown time: before everything),
# is it live, load_id, seq.
Rank = tuple[int, bool, str, int]


class Seen(msgspec.Struct, frozen=True, gc=False):
    """A stored document of an id, and the last place at which it was seen."""

    sha256: bytes
    rank: Rank


def rank(observed_at: dt.datetime | None, source: str, load_id: str, seq: int) -> Rank:
    """Return the place of an observation; one without a time comes before all others."""
    at = _UNKNOWN_TIME if observed_at is None else (observed_at - _EPOCH) // MICROSECOND
    return at, source == "live", load_id, seq


class Index:
    """The index of one kind, in one transaction from opening to `commit`."""

    def __init__(self, data_dir: Path, kind: str) -> None:
        path = data_dir / "raw" / "index" / f"{kind}.sqlite"
        make_folder(path.parent)
        try:
            self._db = _opened(path)
        except sqlite3.DatabaseError:  # not a database any more: it holds nothing that raw does not
            for left in path.parent.glob(path.name + "*"):
                left.unlink()
            self._db = _opened(path)
        try:
            self._catch_up(data_dir, kind)
        except BaseException:
            self.close()
            raise

    def latest(self, ids: Iterable[int]) -> dict[int, list[Seen]]:
        """Return all stored documents of each id, the latest last; ids without any are left out."""
        found: dict[int, list[Seen]] = {}
        wanted = sorted(set(ids))
        for start in range(0, len(wanted), _ASKED_AT_ONCE):
            part = wanted[start : start + _ASKED_AT_ONCE]
            query = "select id, sha256, observed_at, is_live, load_id, seq from documents"
            query += f" where id in ({', '.join('?' * len(part))}) order by id, observed_at, is_live, load_id, seq"
            for id_, sha256, at, is_live, load_id, seq in self._db.execute(query, part):
                found.setdefault(id_, []).append(Seen(sha256, (at, bool(is_live), load_id, seq)))
        return found

    def add(self, places: Iterable[tuple[int, Seen]]) -> None:
        """Note where the documents of ids were seen; the latest place of each stays."""
        self._db.executemany(_UPSERT, [(id_, seen.sha256, *seen.rank) for id_, seen in places])

    @property
    def last_live(self) -> dt.datetime | None:
        """The latest time at which the service answered, of all loads."""
        (last,) = self._db.execute("select max(last_live) from clock").fetchone()
        return None if last is None else _EPOCH + last * MICROSECOND

    def commit(self, load_id: str, last_live: dt.datetime | None) -> None:
        """Make additions permanent, as the content of a load's raw files; `last_live` is its latest answer."""
        self._advance(last_live)
        self._db.execute("insert into loads values (?)", (load_id,))
        self._db.execute("commit")

    def close(self) -> None:
        """Close the index; what was not committed is gone."""
        self._db.close()

    def _advance(self, last_live: dt.datetime | None) -> None:
        if (latest := max(filter(None, (last_live, self.last_live)), default=None)) is not None:
            self._db.execute("delete from clock")
            self._db.execute("insert into clock values (?)", ((latest - _EPOCH) // MICROSECOND,))

    def _catch_up(self, data_dir: Path, kind: str) -> None:
        self._db.execute("begin immediate")
        files = raw_files(data_dir, kind).observations
        here = {load_id for (load_id,) in self._db.execute("select load_id from loads")}
        there = {load_id for file in files for load_id in file.load_ids}
        self.last_load_id = max(there, default="")
        if here - there:  # raw files went: start again from those that are
            self._db.execute("delete from documents")
            self._db.execute("delete from loads")
            here = set()
        for file in files:
            if new := set(file.load_ids) - here:
                # one that is damaged is read once it was restored; until then its documents are stored again
                with suppress(pa.ArrowException, OSError):
                    self._read(file.path, new)
        self._db.execute("commit")
        self._db.execute("begin immediate")

    def _read(self, path: Path, loads: set[str]) -> None:
        columns = ["id", "sha256", "observed_at", "source", "load_id", "seq"]
        last_live = None
        for batch in pq.ParquetFile(path).iter_batches(columns=columns):
            rows = list(zip(*(batch.column(name).to_pylist() for name in columns), strict=True))
            self.add(
                (id_, Seen(bytes.fromhex(sha256), rank(at, source, load_id, seq)))
                for id_, sha256, at, source, load_id, seq in rows
                if sha256 is not None and load_id in loads
            )
            live = (at for _, _, at, source, _, _ in rows if at is not None and source == "live")
            last_live = max([*filter(None, [last_live]), *live], default=None)
        self._advance(last_live)
        self._db.executemany("insert into loads values (?)", [(load_id,) for load_id in sorted(loads)])


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        db.execute("pragma synchronous = full")
        db.execute("pragma cache_size = -32768")
        db.executescript(_SCHEMA)
    except BaseException:
        db.close()
        raise
    return db


_FORMAT = "%Y%m%dT%H%M%S%f"


def load_id_at(started_at: dt.datetime) -> str:
    """Return a new id of a load that started then: ids are ordered by time."""
    return f"{started_at:{_FORMAT}}-{secrets.token_hex(3)}"


def time_of_load(load_id: str) -> dt.datetime | None:
    """Return when a load started, by its id; None where the id says none."""
    try:
        return dt.datetime.strptime(load_id.partition("-")[0], _FORMAT).replace(tzinfo=dt.UTC)
    except ValueError:
        return None


def clock_set_back(data_dir: Path, now: dt.datetime | None = None) -> str:
    """Return a sentence where the clock is behind the last load; else ""."""
    now = now or utc_now()
    loads = (raw_files(data_dir, kind).load_ids[-1:] for kind in KINDS)
    last = max((at for ids in loads for load_id in ids if (at := time_of_load(load_id))), default=now)
    if last <= now:
        return ""
    return (
        f"The clock is at {now:%Y-%m-%d %H:%M} UTC, before the last load at {last:%Y-%m-%d %H:%M} UTC: set it right if "
        "it is behind. If it was ahead then, nothing is to be done: until then loads are ordered after the last one."
    )
