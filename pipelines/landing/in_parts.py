"""Land a long archive part by part: a kill costs at most the part under way, and given again it goes on there.

A part is one load of consecutive documents of one file. It is noted in the journal before it is committed, and counts
when its load does, so that no part is landed twice or left out.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow.parquet as pq

from pipelines.durable import append, make_folder
from pipelines.landing.checksums import naming_damage
from pipelines.landing.documents_in_files import UNREADABLE, documents
from pipelines.landing.files import Asked, checked, time_in
from pipelines.landing.formats import note_formats
from pipelines.landing.load import open_load
from pipelines.landing.lock import LandingError
from pipelines.landing.raw_files import raw_files
from pipelines.landing.unobserved_menus import ObservedMenus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.landing.verdicts import Refusal
    from pipelines.settings import Settings
    from pipelines.vault import Vault

    Progress = Callable[[str, int, int], None]

PART = 20_000  # documents a load
_TELL_EVERY = 1_000


class Backfilled(NamedTuple):
    """What became of an archive: all of it, what earlier runs of the same had landed included.

    `verdicts` counts documents; `without_menu` the orders for whose time no menu of their store was observed, None for
    other kinds; `refusals` are those of this run.
    """

    kind: str
    files: int
    verdicts: Counter[str]
    loads: int
    loads_before: int
    without_menu: int | None
    refusals: list[Refusal]


class _Part(msgspec.Struct, frozen=True):
    """A line of the journal: which documents of which file, and the load that has them once it counts."""

    file: str
    no: int
    documents: int
    load_id: str
    without_menu: int


def backfill(
    settings: Settings,
    vault: Vault,
    kind: str,
    asked: Asked,
    *,
    progress: Progress | None = None,
    part: int = PART,
) -> Backfilled:
    """Land the files of a long archive in parts; those that an earlier run of the same landed are passed over.

    Its loads are marked, so that nobody is alarmed by the past. `progress` gets (kind, documents, 0). Raise
    LandingError when a file cannot be read or a pointer leads nowhere; the parts before it are landed and stay.
    """
    asked = checked(asked)
    tell = progress or (lambda *_: None)
    note_formats(settings.data_dir)
    journal = _Journal(settings.data_dir / "raw" / f"backfill-{kind}.jsonl", settings, kind)
    menus = ObservedMenus(settings.data_dir) if kind == "orders" else None
    done = 0
    loads: list[_Part] = []
    refusals: list[Refusal] = []
    earlier = 0
    for path in asked.paths:
        name = _identity(path, asked)
        for no, bodies in enumerate(_parts(path, settings, kind, asked, part)):
            known = journal.counting.get((name, no))
            if known is not None:
                loads.append(known)
                earlier += 1
                done += known.documents
                for _ in bodies:
                    pass
                tell(kind, done, 0)
                continue
            with open_load(settings, vault, kind, "archive", is_backfill=True) as load:
                count = without = timed = 0
                for body in bodies:
                    at = time_in(body, asked.observed_at_pointer) if asked.observed_at_pointer else asked.observed_at
                    load.validate(body, observed_at=at, http_status=None)
                    count += 1
                    timed += at is not None
                    without += menus is not None and not menus.had(body)
                    if (done + count) % _TELL_EVERY == 0:
                        tell(kind, done + count, 0)
                if asked.observed_at_pointer and not timed:
                    raise LandingError(
                        f"--observed-at-pointer {asked.observed_at_pointer} leads to a time in none of {count:,} "
                        f"documents of {path.name}: of these nothing was landed"
                    )
                noted = _Part(name, no, count, load.load_id, without)
                journal.note(noted)
                refusals.extend(load.commit().quarantined)
            loads.append(noted)
            done += count
    tell(kind, done, 0)
    return Backfilled(
        kind,
        len(asked.paths),
        _verdicts(settings, kind, {each.load_id for each in loads}),
        len(loads),
        earlier,
        None if menus is None else sum(each.without_menu for each in loads),
        refusals,
    )


def _parts(path: Path, settings: Settings, kind: str, asked: Asked, size: int) -> Iterator[Iterator[bytes]]:
    """Yield the documents of a file, part by part; each part is to be read to its end before the next."""
    bodies = _read(path, settings, kind, asked)
    for first in bodies:
        yield _from(first, islice(bodies, size - 1))


def _read(path: Path, settings: Settings, kind: str, asked: Asked) -> Iterator[bytes]:
    try:
        yield from documents(path, whole=kind == "menus", limits=settings.landing, pointer=asked.documents_pointer)
    except UNREADABLE as error:
        raise LandingError(f"{path} cannot be read to its end: {error}; the parts before it are landed") from None


def _from(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _identity(path: Path, asked: Asked) -> str:
    """Return what tells a file, landed in a certain way, from every other: its content, and how it is read."""
    digest = hashlib.sha256(repr((asked.documents_pointer, asked.observed_at_pointer, asked.observed_at)).encode())
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise LandingError(f"{path} cannot be read: {error.strerror}; the files before it are landed") from None
    return digest.hexdigest()


def _verdicts(settings: Settings, kind: str, load_ids: set[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in raw_files(settings.data_dir, kind).observations:
        if load_ids & set(file.load_ids):
            with naming_damage(settings.data_dir, file.path):
                table = pq.read_table(file.path, columns=["verdict", "load_id"])
            pairs = zip(*(column.to_pylist() for column in table.columns), strict=True)
            counts.update(verdict for verdict, load_id in pairs if load_id in load_ids)
    return counts


class _Journal:
    """What was begun; `counting` has those parts whose load was committed."""

    def __init__(self, path: Path, settings: Settings, kind: str) -> None:
        self._path = path
        landed = set(raw_files(settings.data_dir, kind).load_ids)
        self.counting = {(part.file, part.no): part for part in self._read() if part.load_id in landed}

    def note(self, part: _Part) -> None:
        """Note a part, on the disk, before its load is committed."""
        make_folder(self._path.parent)
        # A kill may have left half a line: this one begins its own.
        append(self._path, b"\n" + msgspec.json.encode(part))

    def _read(self) -> Iterator[_Part]:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=_Part)
            except msgspec.DecodeError:
                continue  # empty, or cut by a kill: then its load was not committed
