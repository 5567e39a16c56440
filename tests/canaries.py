"""Search for marked values in every form in which a file or an output may hold them.

A file is read as what it is (Parquet, DuckDB, SQLite, gzip, zstd, zip, tar, whatever its name), a mark is looked for as
UTF-8, UTF-16, hexadecimal, base64 at each offset, percent-encoded and with JSON escapes, in any case. A format that is
compressed and not known here is a hit of its own: teach it to this module.
"""

from __future__ import annotations

import base64
import gzip
import io
import sqlite3
import tarfile
import urllib.parse
import zipfile
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_UNKNOWN = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x04\x22\x4d\x18": "lz4"}
_DEEPEST = 4


def forms(mark: str) -> set[bytes]:
    """Return the byte patterns, in lower case, of a mark; bases keep their case and are returned as they are."""
    plain = mark.encode()
    found = {plain, mark.encode("utf-16-le"), mark.encode("utf-16-be"), plain.hex().encode()}
    found.add("".join(f"\\u{ord(each):04x}" for each in mark).encode())
    return {each.lower() for each in found}


def bases(mark: str) -> set[bytes]:
    """Return what base64 makes of a mark at each of three offsets, without what its neighbours change."""
    found = set()
    for offset in range(3):
        content = b"\0" * offset + mark.encode()
        start = -(-offset * 8 // 6)
        end = len(content) * 8 // 6
        for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(alphabet(content)[start:end])
    return found


class Marks:
    """The marked values that nothing may hold."""

    def __init__(self, *marks: str) -> None:
        self._folded = {form for mark in marks for form in forms(mark)}
        self._bases = {form for mark in marks for form in bases(mark)}

    def in_bytes(self, content: bytes) -> bool:
        """Tell whether bytes hold a mark in any form."""
        if any(form in content for form in self._bases):
            return True
        folded = content.lower()
        texts = (folded, urllib.parse.unquote_to_bytes(folded)) if b"%" in folded else (folded,)
        return any(form in text for text in texts for form in self._folded)

    def hits(self, folder: Path, leaving_out: Iterable[Path] = ()) -> list[str]:
        """Return the files below a folder that hold a mark, in content or name."""
        skipped = {path.resolve() for path in leaving_out}
        found = []
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or path.resolve() in skipped:
                continue
            name = str(path.relative_to(folder))
            if any(self.in_bytes(each) for each in (name.encode(), *readable(path))):
                found.append(name)
        return found


def readable(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and what a reader of its format sees in them."""
    content = path.read_bytes()
    yield content
    if content[:16] == b"SQLite format 3\0":
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            yield "\n".join(db.iterdump()).encode()
        db.close()
    elif content[8:12] == b"DUCK":
        with duckdb.connect(str(path), read_only=True) as con:
            names = "select schema_name, table_name from duckdb_tables()"
            for schema, table in con.execute(names).fetchall():
                yield repr(con.execute(f'from "{schema}"."{table}"').fetchall()).encode()
            yield repr(
                con.execute("select sql from duckdb_tables() union all select sql from duckdb_views()").fetchall()
            ).encode()
    else:
        yield from unpacked(content)


def unpacked(content: bytes, depth: int = 0) -> Iterator[bytes]:
    """Yield the content of packed bytes, packed again or not."""
    inner: list[bytes] = []
    if content[:4] == b"PAR1":
        table = pq.read_table(io.BytesIO(content))
        yield repr(table.to_pylist()).encode() + repr(table.schema.metadata).encode()
    elif content[:2] == b"\x1f\x8b":
        inner.append(gzip.decompress(content))
    elif content[:4] == b"\x28\xb5\x2f\xfd":
        inner.append(pa.CompressedInputStream(pa.BufferReader(content), "zstd").read())
    elif content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inner += [archive.read(name) for name in archive.namelist()]
    elif content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as packed:
            inner += [file.read() for each in packed if (file := packed.extractfile(each))]
    elif kind := next((kind for start, kind in _UNKNOWN.items() if content.startswith(start)), None):
        raise ValueError(f"a {kind} file: tests/canaries.py cannot look into it yet")
    for each in inner:
        yield each
        if depth < _DEEPEST:
            yield from unpacked(each, depth + 1)
