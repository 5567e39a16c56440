"""Cut files into documents: one a line, the elements of an array, or the whole file.

Text that is not JSON is passed on as it stands, so that validation rejects it. Knows nothing of what documents hold.
"""

from __future__ import annotations

import gzip
import zlib
from typing import IO, TYPE_CHECKING, cast

import msgspec

from pipelines.landing.lock import LandingError
from pipelines.partner.pointer import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What reading a file may raise, a gzip one that was cut or spoiled included.
UNREADABLE = (OSError, EOFError, zlib.error)
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_GZIP = b"\x1f\x8b"
_ANYTHING = msgspec.json.Decoder(msgspec.Raw)


def documents(path: Path, *, whole: bool, max_bytes: int, pointer: str = "") -> Iterator[bytes]:
    """Yield the documents of a file; `whole` files hold one each, unless they are an array.

    `pointer` leads to them inside a wrapper: an array of them, or one. The wrapper is the whole file, or each line is
    one. Raise LandingError where it leads nowhere.

    A line beyond `max_bytes` is cut just there: enough for validation to reject it as too large.
    """
    if pointer:
        yield from _wrapped(path, pointer)
        return
    with open_file(path) as file:
        head = file.read(len(_BOM))
        if head != _BOM:
            file.seek(0)
        start = file.tell()
        first = _first_character(file)
        file.seek(start)
        if whole or first == b"[":
            content = file.read()
            yield from _of_whole(content, lines=not whole)
            return
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


def open_file(path: Path) -> IO[bytes]:
    """Open a file for reading, a gzip one as what it holds; the one place to teach another form of storage."""
    file = path.open("rb")
    is_gzip = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    if not is_gzip:
        return file
    file.close()
    return cast("IO[bytes]", gzip.open(path, "rb"))


def _wrapped(path: Path, pointer: str) -> Iterator[bytes]:
    with open_file(path) as file:
        content = file.read().removeprefix(_BOM)
    wrappers = [content] if _is_json(content) else [line for line in content.split(b"\n") if line.strip(_BLANK)]
    for no, wrapper in enumerate(wrappers, 1):
        try:
            found = _at(wrapper, parse(pointer))
            elements = _ELEMENTS.decode(found) if found.lstrip(_BLANK).startswith(b"[") else [found]
        except (msgspec.DecodeError, RecursionError, LookupError, ValueError):
            raise LandingError(
                f"{path.name}, wrapper {no}: --documents-pointer {pointer} leads nowhere in it"
            ) from None
        yield from (bytes(element) for element in elements)


def _at(wrapper: bytes, tokens: tuple[str, ...]) -> bytes:
    """Return the text that a pointer leads to, as it stands."""
    for token in tokens:
        if wrapper.lstrip(_BLANK).startswith(b"["):
            wrapper = bytes(_ELEMENTS.decode(wrapper)[int(token)])
        else:
            wrapper = bytes(_MEMBERS.decode(wrapper)[token])
    return wrapper


def _of_whole(content: bytes, *, lines: bool) -> Iterator[bytes]:
    if content.lstrip(_BLANK).startswith(b"["):
        try:
            yield from (bytes(element) for element in _ELEMENTS.decode(content))
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            return
    if lines:
        yield from filter(None, (line.strip(_BLANK) for line in content.split(b"\n")))
    else:
        yield content


def _first_character(file: IO[bytes]) -> bytes:
    while (character := file.read(1)) and character in _BLANK:
        pass
    return character


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
