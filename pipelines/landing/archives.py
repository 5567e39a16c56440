"""Land documents from files that the partner supplied, validated as fetched ones are; a long archive part by part.

A line or a document that cannot be taken costs only itself. A part is one load of consecutive documents of one file. It
is noted in the journal before it is committed, and counts when its load does, so that no part is landed twice or left
out: a kill costs at most the part under way, and the archive given again goes on there.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter, deque
from contextlib import suppress
from glob import glob, has_magic
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipelines.durable import append, make_folder
from pipelines.landing.data_folder import note_formats
from pipelines.landing.documents_in_files import UNREADABLE, documents
from pipelines.landing.exact import InvalidDocumentError, instant
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import LandingError, raw_files, read_rows
from pipelines.partner.pointer import PointerError, parse, raw_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pipelines.landing.raw_rows import LoadSummary, Refusal
    from pipelines.settings import Settings
    from pipelines.vault import Vault

    Progress = Callable[[str, int, int], None]

_TELL_EVERY = 1_000


class LandingRequest(NamedTuple):
    """Which files to land, and how to read them.

    Orders and stores stand one a line or in an array, menus one a file; `documents_pointer` leads to them inside a
    wrapper. `observed_at` (naive: UTC), or the time that `observed_at_pointer` leads to in a document, says when the
    service gave it; without either, it never wins over an answer of the service. Paths may be globs, files gzip.
    """

    paths: Sequence[Path]
    observed_at: dt.datetime | None = None
    observed_at_pointer: str = ""
    documents_pointer: str = ""


def checked(asked: LandingRequest) -> LandingRequest:
    """Return the same with globs expanded, sorted, and the time in UTC; raise LandingError for what cannot be."""
    for option, pointer in (
        ("--observed-at-pointer", asked.observed_at_pointer),
        ("--documents-pointer", asked.documents_pointer),
    ):
        try:
            parse(pointer)
        except PointerError as error:
            raise LandingError(f"{option}: {error}") from None
    at = asked.observed_at
    if at is not None:
        at = at.astimezone(dt.UTC) if at.tzinfo else at.replace(tzinfo=dt.UTC)
    return asked._replace(paths=[path for each in asked.paths for path in _expanded(each)], observed_at=at)


def land_files(
    settings: Settings, vault: Vault, kind: str, asked: LandingRequest, progress: Progress | None = None
) -> LoadSummary:
    """Land files as one load of an archive; `progress` gets (kind, documents, 0).

    Raise LandingError when a file cannot be read or a pointer leads nowhere in any document.
    """
    asked = checked(asked)
    tell = progress or (lambda *_: None)
    note_formats(settings.data_dir)
    with Load(settings, vault, kind, "archive") as load:
        failed = "read: {}; nothing was landed"
        starts: list[tuple[int, str]] = []  # how many documents stand before each file
        files = ((path.name, _read(path, settings, kind, asked, failed)) for path in asked.paths)
        bodies = _numbered(files, starts)
        done = _take(load, bodies, asked, lambda count: tell(kind, count, 0), ": nothing was landed")
        summary = load.commit()
    tell(kind, done, 0)
    return summary._replace(quarantined=[_placed(each, starts) for each in summary.quarantined])


def _numbered(files: Iterable[tuple[str, Iterator[bytes]]], starts: list[tuple[int, str]]) -> Iterator[bytes]:
    """Yield the documents of files, and note how many stand before each file."""
    count = 0
    for name, bodies in files:
        starts.append((count, name))
        for body in bodies:
            count += 1
            yield body


def _placed(refusal: Refusal, starts: list[tuple[int, str]]) -> Refusal:
    """Return a refusal with its file and its number there."""
    before, name = next(start for start in reversed(starts) if start[0] <= (refusal.seq or 0))
    return refusal._replace(file=f"{name}, document {(refusal.seq or 0) - before + 1:,}")


def _read(path: Path, settings: Settings, kind: str, asked: LandingRequest, failed: str) -> Iterator[bytes]:
    try:
        yield from documents(path, whole=kind == "menus", limits=settings.landing, pointer=asked.documents_pointer)
    except UNREADABLE as error:
        why = failed.format(getattr(error, "strerror", None) or error)
        raise LandingError(f"{path} cannot be {why}") from None


def _take(load: Load, bodies: Iterable[bytes], asked: LandingRequest, tell: Callable[[int], None], rest: str) -> int:
    """Give bodies to a load and return how many they are; LandingError if none has a time where one should be."""
    count = timed = 0
    pointer = asked.observed_at_pointer
    for body in bodies:
        at = time_in(body, pointer) if pointer else asked.observed_at
        load.validate(body, observed_at=at, http_status=None)
        count += 1
        timed += at is not None
        if count % _TELL_EVERY == 0:
            tell(count)
    if pointer and count and not timed:
        raise LandingError(f"--observed-at-pointer {pointer} leads to a time in none of {count:,} documents{rest}")
    return count


def _expanded(path: Path) -> list[Path]:
    """Return the files that a path names: itself, or, where there is no such file, what it matches as a glob."""
    if path.exists() or not has_magic(str(path)):
        return [path]
    found = sorted(Path(each) for each in glob(str(path), recursive=True))  # noqa: PTH207 -- may be absolute
    if not found:
        raise LandingError(f"{path} matches no file; nothing was landed")
    return found


def time_in(body: bytes, pointer: str) -> dt.datetime | None:
    """Return the time that a pointer leads to in a document; None where there is none."""
    try:
        found = raw_at(body, parse(pointer))
        text: Any = None if found is None else msgspec.json.decode(found)
        moment = dt.datetime.fromisoformat(instant(text, pointer))
    except (PointerError, InvalidDocumentError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    return moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


PART = 20_000  # documents a load


class Backfilled(NamedTuple):
    """What became of an archive: all of it, what earlier runs of the same had landed included.

    `verdicts` counts documents; `refusals` are those of this run.
    """

    kind: str
    files: int
    verdicts: Counter[str]
    loads: int
    loads_before: int
    refusals: list[Refusal]


class _ArchivePart(msgspec.Struct, frozen=True):
    """A line of the journal: which documents of which file, and the load that has them once it counts."""

    file: str
    no: int
    documents: int
    load_id: str


def backfill(
    settings: Settings,
    vault: Vault,
    kind: str,
    asked: LandingRequest,
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
    journal, landed = settings.data_dir / "raw" / f"backfill-{kind}.jsonl", raw_files(settings.data_dir, kind).load_ids
    counting = {(part.file, part.no): part for part in _begun(journal) if part.load_id in set(landed)}
    done = earlier = 0
    loads: list[_ArchivePart] = []
    refusals: list[Refusal] = []
    for path in asked.paths:
        name = _identity(path, asked)
        for no, bodies in enumerate(_parts(path, settings, kind, asked, part)):
            noted = counting.get((name, no))
            if noted is not None:
                earlier += 1
                deque(bodies, maxlen=0)
            else:
                with Load(settings, vault, kind, "archive", is_backfill=True) as load:
                    count = _take(
                        load,
                        bodies,
                        asked,
                        lambda count, before=done: tell(kind, before + count, 0),  # type: ignore[misc]
                        f" of {path.name}: of these nothing was landed",
                    )
                    noted = _ArchivePart(name, no, count, load.load_id)
                    make_folder(journal.parent)
                    append(journal, b"\n" + msgspec.json.encode(noted))  # a kill may have left half a line before it
                    refusals.extend(load.commit().quarantined)
            loads.append(noted)
            done += noted.documents
            tell(kind, done, 0)
    tell(kind, done, 0)
    verdicts = read_rows(settings.data_dir, kind, "observations", ("verdict",), {each.load_id for each in loads})
    return Backfilled(
        kind,
        len(asked.paths),
        Counter(verdict for (verdict,) in verdicts),
        len(loads),
        earlier,
        refusals,
    )


def _parts(path: Path, settings: Settings, kind: str, asked: LandingRequest, size: int) -> Iterator[Iterator[bytes]]:
    """Yield the documents of a file, part by part; each part is to be read to its end before the next."""
    bodies = _read(path, settings, kind, asked, "read to its end: {}; the parts before it are landed")
    for first in bodies:
        yield chain((first,), islice(bodies, size - 1))


def _identity(path: Path, asked: LandingRequest) -> str:
    """Return what tells a file, landed in a certain way, from every other: its content, and how it is read."""
    digest = hashlib.sha256(repr((asked.documents_pointer, asked.observed_at_pointer, asked.observed_at)).encode())
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise LandingError(f"{path} cannot be read: {error.strerror}; the files before it are landed") from None
    return digest.hexdigest()


def _begun(journal: Path) -> Iterator[_ArchivePart]:
    """Yield the parts that were noted before their loads were committed."""
    for line in journal.read_bytes().split(b"\n") if journal.exists() else ():
        with suppress(msgspec.DecodeError):  # empty, or cut by a kill: then its load was not committed
            yield msgspec.json.decode(line, type=_ArchivePart)
