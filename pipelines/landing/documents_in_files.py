"""Cut files into documents: one a line, the elements of an array, or the whole file.

What is no JSON is handed on as it stands, so that the gate can say so. Knows nothing of what documents hold.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_ANYTHING = msgspec.json.Decoder(msgspec.Raw)


def documents(path: Path, *, whole: bool, max_bytes: int) -> Iterator[bytes]:
    """Yield the documents of a file; `whole` files hold one each, unless they are an array.

    A line beyond `max_bytes` is cut just there: enough for the gate to call it too large.
    """
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
    """Open a file for reading; the one place to teach another form of storage."""
    return path.open("rb")


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
