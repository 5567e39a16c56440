"""Know the size and hash of every raw file, and name those that are damaged or missing.

Raw files never change. A load, or a merge, notes its files in `raw/checksums.json` once they count; files that nobody
noted are noted when they are first looked at.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.durable import file_hash, write_whole
from pipelines.landing.lock import LandingError
from pipelines.landing.raw_files import is_merged, loads_of, manifest_file, raw_files
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pipelines.landing.raw_files import RawFiles

    Sums = dict[str, tuple[int, str]]

_NAMED = 5


class RawDamageError(LandingError):
    """Files of raw/ are not what was landed; the message names them and says what to do."""


def note_checksums(data_dir: Path, paths: Iterable[Path]) -> None:
    """Note size and hash of raw files that count from now on."""
    with _lock(data_dir):
        noted = checksums(data_dir)
        _write(data_dir, noted | {_name(data_dir, path): _sum(path) for path in paths})


def noted_files(data_dir: Path) -> set[Path]:
    """Return every raw file that was noted: it belongs to a load that counted, whether it is still there or not."""
    return {data_dir / "raw" / name for name in checksums(data_dir)}


def check_raw(data_dir: Path, *, hashes: bool = False) -> None:
    """Raise RawDamageError where a raw file is missing, or has another size, or hash, than was noted.

    Sizes are compared at the price of listing files; `hashes` reads all of them. New files are noted.
    """
    if not (data_dir / "raw").exists():
        return
    in_force = {kind: raw_files(data_dir, kind) for kind in KINDS}
    with _lock(data_dir):
        noted = checksums(data_dir)
        wrong = [each for kind, files in in_force.items() for each in _missing(data_dir, kind, files, noted)]
        kept: Sums = {}
        for path in _paths(in_force.values()):
            name = _name(data_dir, path)
            if name in noted:
                kept[name] = noted[name]
                why = _damage(path, noted[name], hashes=hashes)
            elif not (why := _unreadable(path)):
                kept[name] = _sum(path)
            if why:
                wrong.append(f"raw/{name} ({why})")
        if wrong:
            raise _damaged(wrong)
        if kept != noted:
            _write(data_dir, kept)


def check_files(data_dir: Path, paths: Iterable[Path]) -> None:
    """Raise RawDamageError where one of these files is missing or does not have the hash that was noted."""
    noted = checksums(data_dir)
    wrong = []
    for path in paths:
        name = _name(data_dir, path)
        if name not in noted:
            continue  # it may be of an older version, or its load was killed: a build notes it
        if why := _damage(path, noted[name], hashes=True) if path.exists() else "missing":
            wrong.append(f"raw/{name} ({why})")
    if wrong:
        raise _damaged(wrong)


@contextmanager
def naming_damage(data_dir: Path, path: Path) -> Iterator[None]:
    """Raise RawDamageError, which names the file, where a raw file cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise _damaged([f"raw/{_name(data_dir, path)} ({_short(error)})"]) from None


def _missing(data_dir: Path, kind: str, files: RawFiles, noted: Sums) -> Iterator[str]:
    """Yield the files of a kind that are gone, and whose loads no other file holds."""
    loads = set(files.load_ids)
    here = {_name(data_dir, path) for path in _paths([files])}
    for area, of_area in zip(("documents", "observations"), files, strict=True):
        for file in of_area:
            name = _name(data_dir, file.path)
            # a load of an older version without a new document has no documents file
            if name not in here and (name in noted or area == "observations"):
                yield f"raw/{name} (missing)"
    in_force = {_name(data_dir, file.path) for area in files for file in area}
    for name in noted.keys() - in_force:
        path = data_dir / "raw" / name
        if path.parent.name != kind:
            continue
        if not is_merged(path.stem):
            if path.stem not in loads:
                yield f"raw/{name} ({'its other file is missing' if path.exists() else 'missing'})"
        elif not manifest_file(data_dir, kind).exists() or (path.exists() and loads_of(path) - loads):
            yield f"raw/{manifest_file(data_dir, kind).name} (missing, or older than raw/{name})"


def _damaged(wrong: list[str]) -> RawDamageError:
    """Return the error that names the faulty files."""
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    return RawDamageError(
        f"raw files are damaged: {', '.join(sorted(wrong)[:_NAMED])}{more}. Restore them from a backup; to go on "
        "without them for good, remove them and raw/checksums.json. Until then the last release stays current; what "
        "is fetched is landed all the same"
    )


def _damage(path: Path, noted: tuple[int, str], *, hashes: bool) -> str:
    size = path.stat().st_size
    if size != noted[0]:
        return f"{size:,} bytes instead of {noted[0]:,}"
    return "other content than was landed" if hashes and _sum(path) != noted else ""


def _paths(in_force: Iterable[RawFiles]) -> list[Path]:
    return [file.path for files in in_force for area in files for file in area if file.path.exists()]


def _name(data_dir: Path, path: Path) -> str:
    return str(path.relative_to(data_dir / "raw"))


def checksums(data_dir: Path) -> Sums:
    """Return path below raw/ → size and SHA-256 of the raw files that were landed, or looked at, so far."""
    try:
        content = (data_dir / "raw" / "checksums.json").read_bytes()
        return msgspec.json.decode(content, type=dict[str, tuple[int, str]])
    except (FileNotFoundError, msgspec.DecodeError):  # noted again, from the present files
        return {}


def _write(data_dir: Path, sums: Sums) -> None:
    write_whole(data_dir / "raw" / "checksums.json", msgspec.json.encode(sums))


@contextmanager
def _lock(data_dir: Path) -> Iterator[None]:
    """Wait for other loads and builds that note files."""
    path = data_dir / "raw" / "checksums.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _unreadable(path: Path) -> str:
    try:
        pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        return _short(error)
    return ""


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _sum(path: Path) -> tuple[int, str]:
    return path.stat().st_size, file_hash(path)
