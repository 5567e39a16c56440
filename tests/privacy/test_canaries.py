"""The search for marked values finds one wherever it is planted."""

from __future__ import annotations

import base64
import gzip
import io
import sqlite3
import tarfile
import zipfile
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.canaries import Marks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MARK = "canary-7f3a"


def _parquet(path: Path) -> None:
    pq.write_table(pa.table({"a": [{"b": [f"x{MARK}"]}]}), path, compression="zstd")


def _duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute("create schema s")
        con.execute("create table s.t as select i, ? as v from range(5000) as r(i)", [f"{MARK}"])


def _sqlite(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("create table t (v blob)")
    db.execute("insert into t values (?)", (b"\0" + MARK.encode(),))
    db.commit()
    db.close()


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", gzip.compress(MARK.encode()))


def _tar(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("a")
        entry.size = len(MARK)
        archive.addfile(entry, io.BytesIO(MARK.encode()))


def _zstd(path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(MARK.encode() * 3)


def _as(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


PLANTED: dict[str, Callable[[Path], object]] = {
    "plain": _as(f"x{MARK}x".encode()),
    "other case": _as(MARK.upper().encode()),
    "utf-16": _as(f"ab{MARK}".encode("utf-16")),
    "hex": _as(f"xy{MARK}".encode().hex().upper().encode()),
    "escaped": _as("".join(f"\\u00{ord(each):02X}" for each in MARK).encode()),
    "percent": _as(MARK.replace("-", "%2D").encode()),
    **{f"base64 at {n}": _as(base64.b64encode(b"x" * n + MARK.encode() + b"yz")) for n in range(3)},
    "gzip": _as(gzip.compress(gzip.compress(MARK.encode()))),
    "parquet": _parquet,
    "duckdb": _duckdb,
    "sqlite": _sqlite,
    "zip": _zip,
    "tar.gz": _tar,
    "zstd": _zstd,
}


@pytest.mark.parametrize("how", PLANTED)
def test_planted_mark_is_found(tmp_path: Path, how: str) -> None:
    """In every format and every form."""
    PLANTED[how](tmp_path / "file")
    (tmp_path / "clean").write_bytes(b"canary 7f3a")
    assert Marks(MARK).hits(tmp_path) == ["file"]


def test_mark_in_a_name_is_found_and_an_unknown_format_is_refused(tmp_path: Path) -> None:
    """A file's name counts; a compressed file that nobody can look into does not pass."""
    (tmp_path / MARK).write_bytes(b"")
    assert Marks(MARK).hits(tmp_path) == [MARK]
    (tmp_path / "x.xz").write_bytes(b"\xfd7zXZ\0")
    with pytest.raises(ValueError, match="xz file"):
        Marks(MARK).hits(tmp_path)
