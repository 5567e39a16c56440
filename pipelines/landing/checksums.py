"""Know the size and hash of every raw file, and name those that are no longer what was landed.

Raw files never change. A file is noted when it is first looked at, in `raw/checksums.json`. Knows nothing of what the
files hold.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.durable import write_whole
from pipelines.landing.lock import LandingError
from pipelines.landing.raw_files import raw_files
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path


class RawDamageError(LandingError):
    """Files of raw/ are not what was landed; the message names them and says what to do."""


def check_raw(data_dir: Path, *, hashes: bool = False) -> None:
    """Raise RawDamageError where a raw file has another size, or hash, than when it was first looked at.

    Sizes are compared at the price of listing files; `hashes` reads all of them. New files are noted.
    """
    known = checksums(data_dir)
    found: dict[str, tuple[int, str]] = {}
    wrong = []
    for path in _files(data_dir):
        name = str(path.relative_to(data_dir / "raw"))
        size = path.stat().st_size
        if name not in known:
            if why := _unreadable(path):
                wrong.append(f"raw/{name} ({why})")
                continue
            found[name] = (size, _sha256(path))
            continue
        found[name] = known[name]
        if size != known[name][0]:
            wrong.append(f"raw/{name} ({size:,} bytes instead of {known[name][0]:,})")
        elif hashes and _sha256(path) != known[name][1]:
            wrong.append(f"raw/{name} (other content than was landed)")
    if found != known and not wrong:
        write_whole(data_dir / "raw" / "checksums.json", msgspec.json.encode(found))
    if wrong:
        raise RawDamageError(
            f"{len(wrong)} raw files are damaged, such as {wrong[0]}: restore them from a backup. Until then the last "
            "release stays current; what is fetched is landed all the same"
        )


def _files(data_dir: Path) -> list[Path]:
    """Return the raw files that are in force and exist: a load without a new document may have none."""
    in_force = [raw_files(data_dir, kind) for kind in KINDS]
    return [file.path for files in in_force for area in files for file in area if file.path.exists()]


def checksums(data_dir: Path) -> dict[str, tuple[int, str]]:
    """Return path below raw/ → size and SHA-256 of the raw files that were looked at so far."""
    try:
        content = (data_dir / "raw" / "checksums.json").read_bytes()
        return msgspec.json.decode(content, type=dict[str, tuple[int, str]])
    except (FileNotFoundError, msgspec.DecodeError):  # noted again, by what the files are now
        return {}


def _unreadable(path: Path) -> str:
    try:
        pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        return str(error).partition("\n")[0].rstrip(".")
    return ""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
