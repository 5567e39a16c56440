"""Cut files into documents: one a line, the elements of an array, or the whole file; files of any size.

Text that is not JSON is passed on as it stands, so that validation rejects it.
"""

from __future__ import annotations

import gzip
import zlib
from typing import IO, TYPE_CHECKING, Any, Self, cast

import msgspec

from pipelines.landing.json_stream import JsonStream, NotThereError
from pipelines.landing.lock import LandingError
from pipelines.partner.pointer import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.settings.tables import Landing

# What reading a file may raise, a gzip one that was cut or spoiled included.
UNREADABLE = (OSError, EOFError, zlib.error)
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_GZIP = b"\x1f\x8b"
_ANYTHING = msgspec.json.Decoder(msgspec.Raw)
_BLOCK = 1 << 20
_ALWAYS_UNPACKED = 16 << 20  # a small file may be all repetition


def documents(path: Path, *, whole: bool, limits: Landing, pointer: str = "") -> Iterator[bytes]:
    """Yield the documents of a file; `whole` files hold one each, unless they are an array.

    `pointer` leads to them inside a wrapper: an array of them, or one. The wrapper is the whole file, or each line is
    one. Raise LandingError where it leads nowhere, and for a gzip file that unpacks to too many times its size.

    A document beyond max_bytes is cut just there: enough for validation to reject it as too large. An array that is
    broken or ends too early gives its elements up to there, an empty document, which is rejected, and its other lines.
    """
    with open_file(path, limits.max_unpack_ratio) as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        stream = JsonStream(file, limits.max_bytes)
        if pointer:
            yield from _wrapped(stream, path, pointer)
            return
        start = file.tell()
        first = stream.peek()
        if first == b"[":
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


class _Unpacked:
    """What a gzip file holds, while it is at most `max_ratio` times what was read of the file: no size is needed."""

    def __init__(self, path: Path, max_ratio: int) -> None:
        self._name, self._max_ratio = path.name, max_ratio
        self._packed = path.open("rb")
        self._file = gzip.GzipFile(fileobj=self._packed, mode="rb")

    def __enter__(self) -> Self:
        return self

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
            raise LandingError(
                f"{self._name} unpacks to more than {self._max_ratio} times its size, as no archive of documents does; "
                "if it is right, unpack it and land that, or raise [landing] max_unpack_ratio"
            )
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
    if first == b"{" and not _is_json(line):  # one document written over many lines, or a broken first line
        file.seek(start)
        content = file.read(max_bytes + 1)
        if _is_json(content):
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


def _is_json(content: bytes) -> bool:
    try:
        _ANYTHING.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
