"""Which documents are stored, and the latest of each id; and the order of loads in time.

The index is a cache of the raw files, rebuilt when it is not theirs. Load ids are times, and the observations of an id
are ordered by time: nothing gets a time before that of an earlier load, although the clock was set back.
"""

from __future__ import annotations

import datetime as dt
import secrets
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.clock import utc_now
from pipelines.durable import make_folder
from pipelines.landing.raw_folder import raw_files
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Now = Callable[[], dt.datetime]

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
            query = (
                "select id, sha256, observed_at, is_live, load_id, seq from documents "
                f"where id in ({', '.join('?' * len(part))}) order by id, observed_at, is_live, load_id, seq"
            )
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
        latest = max(filter(None, (last_live, self.last_live)), default=None)
        if latest is not None:
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
            new = set(file.load_ids) - here
            if new:
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
