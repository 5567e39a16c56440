"""Land documents from files that the partner supplied, validated as fetched ones are; a long archive part by part.

A line or a document that cannot be taken costs only itself. A part is one load of consecutive documents of one file. It
is noted in the journal before it is committed, and counts when its load does, so that no part is landed twice or left
out: a kill costs at most the part under way, and the archive given again goes on there.

Documents are the lines of a file of any size, the elements of an array, or the whole file. Text that is not JSON is
passed on as it stands, so that validation rejects it. A value longer than the limit is cut. Each byte is looked at
once, whatever it says; no syntax is checked beyond strings and brackets.
"""

import codecs
import datetime as dt
import gzip
import hashlib
import io
import re
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from glob import glob, has_magic
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import msgspec

from pipelines.durable import append, make_folder
from pipelines.landing.data_folder import note_formats
from pipelines.landing.exact import YEARS, InvalidDocumentError, instant
from pipelines.landing.load import Load
from pipelines.landing.raw_folder import LandingError, raw_files, read_rows
from pipelines.landing.raw_rows import LoadSummary, Refusal
from pipelines.literals import encoding_of, unmarked
from pipelines.partner.pointer import PointerError, is_json, parse, raw_at
from pipelines.settings import Settings
from pipelines.settings.setting_tables import Landing
from pipelines.vault import Vault

Progress = Callable[[str, int, int], None]


_CHUNK = 1 << 20
_BLANKS = re.compile(rb"[ \t\r\n]*+")
# Matches everywhere, so that the search never starts within a string: a sign it stops at, or none at the end.
_TO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+(["\[\]{}]?)', re.DOTALL)
_OPENING, _CLOSING = {b"[", b"{"}, {b"]", b"}"}
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SCALAR = re.compile(rb'[^"\[\]{},: \t\r\n]*+')


class Value(NamedTuple):
    """The text of a value, and whether its end was found; a text beyond the limit is cut just there."""

    text: bytes
    is_whole: bool


class NotThereError(LookupError):
    """A pointer leads nowhere."""


class JsonStream:
    """Reads values from a file, from where it stands; of each at most `longest` + 1 bytes are kept."""

    def __init__(self, file: IO[bytes], longest: int) -> None:
        self._file, self._longest = file, longest
        self._buffer = b""
        self._at = 0
        self._read = file.tell()

    @property
    def offset(self) -> int:
        """The place in the file up to which everything was taken."""
        return self._read - len(self._buffer) + self._at

    def peek(self) -> bytes:
        """Return the next byte that is not blank, without taking it; b"" at the end."""
        while True:
            self._at = _end(_BLANKS, self._buffer, self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            if not self._more():
                return b""

    def take(self) -> bytes:
        """Take the next byte that is not blank; b"" at the end."""
        found = self.peek()
        self._at += len(found)
        return found

    def value(self) -> Value:
        """Take the next value; an empty text where there is none."""
        first = self.peek()
        self._buffer, self._at = self._buffer[self._at :], 0
        if first in {b'"', b"[", b"{"}:
            return self._until(is_string=first == b'"', depth=int(first != b'"'), at=1)
        at = 0
        head: bytes | None = None
        while (at := _end(_SCALAR, self._buffer, at)) == len(self._buffer):
            head, at = self._cut(head, at)
            if not self._more():
                break
        return self._taken(head, at, is_whole=True)

    def skip_out(self, depth: int) -> bool:
        """Skip to the end of this many open arrays and objects; return whether there is one."""
        self._buffer, self._at = self._buffer[self._at :], 0
        return not depth or self._until(is_string=False, depth=depth, at=0).is_whole

    def elements(self) -> Iterator[bytes]:
        """Yield the elements of the array that begins here; an empty text where it is broken, or ends too early."""
        self.take()
        if self.peek() == b"]":
            self.take()
            return
        while True:
            value = self.value()
            yield value.text
            if not value.is_whole:
                return
            following = self.peek()
            if following not in {b",", b"]"}:
                if value.text:
                    yield b""
                return
            self.take()
            if following == b"]":
                return

    def go_to(self, tokens: tuple[str, ...]) -> int:
        """Go to where a pointer leads, or raise NotThereError; return how many arrays and objects are open there."""
        for token in tokens:
            if (opened := self.take()) == b"{":
                self._to_member(token)
            elif opened == b"[":
                self._to_element(token)
            else:
                raise NotThereError(token)
        if self.peek() in {b"", b",", b"]", b"}", b":"}:
            raise NotThereError("no value")
        return len(tokens)

    def _to_member(self, name: str) -> None:
        while True:
            try:
                key = msgspec.json.decode(self.value().text, type=str)
            except (ValueError, RecursionError):
                raise NotThereError(name) from None
            if self.take() != b":":
                raise NotThereError(name)
            if key == name:
                return
            if not self.value().is_whole or self.take() != b",":
                raise NotThereError(name)

    def _to_element(self, index: str) -> None:
        if not index.isdecimal() or len(index) > len(str(2**63)):
            raise NotThereError(index)
        for _ in range(int(index)):
            if not self.value().is_whole or self.take() != b",":
                raise NotThereError(index)

    def _until(self, *, is_string: bool, depth: int, at: int) -> Value:
        """Take what ends with the string, or the brackets, that are open at `at` in the buffer."""
        head: bytes | None = None
        while True:
            if is_string:
                at = _end(_IN_STRING, self._buffer, at)
                if self._buffer[at : at + 1] == b'"':
                    at += 1
                    is_string = False
                    if not depth:
                        return self._taken(head, at, is_whole=True)
                    continue
            else:
                at, depth, is_string = _next_string(self._buffer, at, depth)
                if not depth:
                    return self._taken(head, at, is_whole=True)
                if is_string:
                    continue
            head, at = self._cut(head, at)
            if not self._more():
                return self._taken(head, len(self._buffer), is_whole=False)

    def _cut(self, head: bytes | None, at: int) -> tuple[bytes | None, int]:
        """Forget what was looked at of a value that is too long already, but for its beginning."""
        if head is None and len(self._buffer) <= self._longest:
            return None, at
        head = self._buffer[: self._longest + 1] if head is None else head
        self._buffer = self._buffer[at:]
        return head, 0

    def _taken(self, head: bytes | None, at: int, *, is_whole: bool) -> Value:
        text = self._buffer[: min(at, self._longest + 1)] if head is None else head
        self._at = at
        return Value(text, is_whole)

    def _more(self) -> bool:
        """Read on; double the buffer, so that no byte is copied often."""
        chunk = self._file.read(max(_CHUNK, len(self._buffer)))
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        self._read += len(chunk)
        return bool(chunk)


def _next_string(text: bytes, at: int, depth: int) -> tuple[int, int, bool]:
    """Go on to where no bracket is open, a string is unfinished, or the text ends; return place, depth, in a string."""
    for match in _TO_BRACKET.finditer(text, at):
        at, found = match.end(), match[1]
        if found in _OPENING:
            depth += 1
        elif found in _CLOSING:
            depth -= 1
            if not depth:
                break
        else:
            return at, depth, found == b'"'
    return at, depth, False


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Return where a match that may be empty ends."""
    match = pattern.match(text, at)
    assert match is not None  # noqa: S101 -- each of the patterns matches nothing, too
    return match.end()


# What reading a file may raise, a gzip one that was cut or spoiled included.
UNREADABLE = (OSError, EOFError, zlib.error)
_BLANK = b" \t\r\n"
_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20
_ALWAYS_UNPACKED = 16 << 20  # a small file may be all repetition


def documents(path: Path, *, whole: bool, limits: Landing, pointer: str = "") -> Iterator[bytes]:
    """Yield the documents of a file; `whole` files hold one each, unless they are an array.

    `pointer` leads to them inside a wrapper: an array of them, or one. The wrapper is the whole file, or each line is
    one. Raise LandingError where it leads nowhere, and for a gzip file that unpacks to too many times its size.

    A document beyond max_bytes is cut just there: enough for validation to reject it as too large. An array that is
    broken or ends too early gives its elements up to there, an empty document, which is rejected, and its other lines.
    """
    with open_file(path, limits.max_unpack_ratio) as opened:
        file, encoding = opened, encoding_of(opened.read(len(codecs.BOM_UTF32_LE)))
        file.seek(len(codecs.BOM_UTF8) if encoding == "utf-8-sig" else 0)
        if encoding in {"utf-16", "utf-32"}:  # as PowerShell writes; in memory
            content = file.read(_ALWAYS_UNPACKED + 1)
            if len(content) > _ALWAYS_UNPACKED:
                raise LandingError(f"{path.name} is {encoding.upper()} and too long to be read as such: make it UTF-8")
            file = io.BytesIO(unmarked(content))
        stream = JsonStream(file, limits.max_bytes)
        if pointer:
            yield from _wrapped(stream, path, pointer)
            return
        start = file.tell()
        if (first := stream.peek()) == b"[":
            yield from stream.elements()
            start = stream.offset if stream.peek() else -1
        if start >= 0:
            file.seek(start)
            yield from _whole(file, limits.max_bytes) if whole else _lines(file, first, limits.max_bytes)


def open_file(path: Path, max_ratio: int) -> IO[bytes]:
    """Open a file for reading, a gzip one as what it holds; the one place to teach another form of storage."""
    file = path.open("rb")
    is_gzip = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    if not is_gzip:
        return file
    file.close()
    return cast("IO[bytes]", _Unpacked(path, max_ratio))


class _Unpacked(AbstractContextManager["_Unpacked"]):
    """What a gzip file holds, while it is at most `max_ratio` times what was read of the file: no size is needed."""

    def __init__(self, path: Path, max_ratio: int) -> None:
        self._name, self._max_ratio = path.name, max_ratio
        self._packed = path.open("rb")
        self._file = gzip.GzipFile(fileobj=self._packed, mode="rb")

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._packed.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        return self._checked(self._file.read(size))

    def readline(self, size: int) -> bytes:
        """Read a line, or so many bytes of it."""
        return self._checked(self._file.readline(size))

    def _checked(self, content: bytes) -> bytes:
        if self._file.tell() > max(_ALWAYS_UNPACKED, self._max_ratio * self._packed.tell()):
            why = f"{self._name} unpacks to more than {self._max_ratio} times its size, as no archive of documents does"
            raise LandingError(f"{why}; if it is right, unpack it and land that, or raise [landing] max_unpack_ratio")
        return content


def _wrapped(stream: JsonStream, path: Path, pointer: str) -> Iterator[bytes]:
    tokens = parse(pointer)
    no = 0
    while stream.peek():
        no += 1
        try:
            depth = stream.go_to(tokens)
        except NotThereError:
            raise LandingError(
                f"{path.name}, wrapper {no}: --documents-pointer {pointer} leads nowhere in it"
            ) from None
        if stream.peek() == b"[":
            yield from stream.elements()
        else:
            yield stream.value().text
        if not stream.skip_out(depth):
            raise LandingError(f"{path.name}, wrapper {no}: the file ends within it")


def _whole(file: IO[bytes], max_bytes: int) -> Iterator[bytes]:
    content = file.read(max_bytes + 1)
    while file.read(_BLOCK):  # to find out whether the file can be read to its end
        pass
    yield content


def _lines(file: IO[bytes], first: bytes, max_bytes: int) -> Iterator[bytes]:
    start = file.tell()
    line = _line(file, max_bytes)
    if first == b"{" and not is_json(line):  # one document written over many lines, or a broken first line
        file.seek(start)
        content = file.read(max_bytes + 1)
        if is_json(content):
            yield content
            return
        file.seek(start)
        line = _line(file, max_bytes)
    while line:
        if line := line.strip(_BLANK):
            yield line
        line = _line(file, max_bytes)


def _line(file: IO[bytes], max_bytes: int) -> bytes:
    line = file.readline(max_bytes + 2)
    if len(line) > max_bytes and not line.endswith(b"\n"):
        while (rest := file.readline(1 << 20)) and not rest.endswith(b"\n"):
            pass
    return line


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
    pointers = {"--observed-at-pointer": asked.observed_at_pointer, "--documents-pointer": asked.documents_pointer}
    for option, pointer in pointers.items():
        try:
            parse(pointer)
        except PointerError as error:
            raise LandingError(f"{option}: {error}") from None
    if (at := asked.observed_at) is not None:
        if at.year not in YEARS:
            raise LandingError(f"--observed-at: {at.year} is not a year from {YEARS[0]} to {YEARS[-1]}")
        at = at.astimezone(dt.UTC) if at.tzinfo else at.replace(tzinfo=dt.UTC)
    return asked._replace(paths=[path for each in asked.paths for path in _expanded(each)], observed_at=at)


def land_files(
    settings: Settings, vault: Vault, kind: str, asked: LandingRequest, progress: Progress | None = None
) -> LoadSummary:
    """Land files as one load; raise LandingError when one cannot be read or a pointer leads nowhere in any document."""
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
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return moment.astimezone(dt.UTC) if moment.year in YEARS else None


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
            if (noted := counting.get((name, no))) is not None:
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
    return Backfilled(kind, len(asked.paths), Counter(each for (each,) in verdicts), len(loads), earlier, refusals)


def _parts(path: Path, settings: Settings, kind: str, asked: LandingRequest, size: int) -> Iterator[Iterator[bytes]]:
    """Yield the documents of a file, part by part; each part is to be read to its end before the next."""
    bodies = _read(path, settings, kind, asked, "read to its end: {}; the parts before it are landed")
    yield from (chain((first,), islice(bodies, size - 1)) for first in bodies)


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
