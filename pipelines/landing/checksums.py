"""Name raw files that are damaged or missing: the inventory has the size and hash of each.

Raw files never change. A load, or a merge, notes its files once they count; files in force that nobody noted, such as
those of a load that was killed after its commit, are noted when they are first looked at.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.inventory import note_files, read_inventory
from pipelines.inventory.record import is_unsettled, measured
from pipelines.landing.raw_files import LandingError, raw_files
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    Sums = dict[str, tuple[int, str]]

_NAMED = 5
_AREAS = ("raw/documents/", "raw/observations/", "raw/merged-")


class RawDamageError(LandingError):
    """Files of raw/ are not what was landed; the message names them and says what to do."""


def noted_files(data_dir: Path) -> set[Path]:
    """Return every raw file that was noted: it belongs to a load that counted, whether it is still there or not."""
    return {data_dir / name for name in checksums(data_dir)}


def check_raw(data_dir: Path, *, hashes: bool = False) -> None:
    """Raise RawDamageError where a raw file is missing, or has another size, or hash, than was noted.

    Sizes are compared at the price of listing files; `hashes` reads all of them. New files are noted.
    """
    if not (data_dir / "raw").exists():
        return
    noted = checksums(data_dir)
    wrong = {name: why for name in noted if (why := _damage(data_dir / name, noted[name], hashes=hashes))}
    in_force = [file.path for kind in KINDS for area in raw_files(data_dir, kind) for file in area]
    observed = {file.path for kind in KINDS for file in raw_files(data_dir, kind).observations}
    new = []
    for path in (path for path in in_force if _name(data_dir, path) not in noted):
        if path.exists():
            wrong[_name(data_dir, path)] = _unreadable(path)
            new.append(path)
        elif path in observed:  # the loss of documents may have been accepted
            wrong[_name(data_dir, path)] = "missing"
    if damaged := {name: why for name, why in wrong.items() if why}:
        raise _damaged(damaged)
    if new:
        note_files(data_dir, new)


def check_files(data_dir: Path, paths: Iterable[Path]) -> None:
    """Raise RawDamageError where one of these files is missing or does not have the hash that was noted."""
    noted = checksums(data_dir)
    names = {_name(data_dir, path) for path in paths}  # one that is not noted: its load was killed, a build notes it
    wrong = {name: _damage(data_dir / name, noted[name], hashes=True) for name in names & noted.keys()}
    if damaged := {name: why for name, why in wrong.items() if why}:
        raise _damaged(damaged)


@contextmanager
def naming_damage(data_dir: Path, path: Path) -> Iterator[None]:
    """Raise RawDamageError, which names the file, where a raw file cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise _damaged({_name(data_dir, path): _short(error)}) from None


def checksums(data_dir: Path) -> Sums:
    """Return path below the data folder → size and SHA-256 of the raw files that the inventory has."""
    return {name: noted for name, noted in read_inventory(data_dir).files.items() if name.startswith(_AREAS)}


def _damaged(wrong: dict[str, str]) -> RawDamageError:
    """Return the error that names the faulty files."""
    named = [f"{name} ({why})" for name, why in sorted(wrong.items())]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return RawDamageError(
        f"raw files are damaged: {', '.join(named[:_NAMED])}{more}. Restore them from a backup; to go on without them "
        'for good, remove them and run `ordermart inventory --accept "REASON"`. Until then the last release stays '
        "current; what is fetched is landed all the same"
    )


def _damage(path: Path, noted: tuple[int, str], *, hashes: bool) -> str:
    is_small = path.suffix == ".json"
    if is_small and is_unsettled(path, noted):
        return ""
    if not path.exists():
        return "missing"
    if not is_small and (size := path.stat().st_size) != noted[0]:
        return f"{size:,} bytes instead of {noted[0]:,}"
    return "other content than was landed" if (hashes or is_small) and measured(path) != noted else ""


def _name(data_dir: Path, path: Path) -> str:
    return str(path.relative_to(data_dir))


def _unreadable(path: Path) -> str:
    try:
        pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        return _short(error)
    return ""


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
