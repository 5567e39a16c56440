"""Know in which format a data folder was written: refuse newer ones, bring older ones to the present one.

`data/format.json` names a version for each area that cannot be rebuilt. Warehouse and releases need none: they are
rebuilt from raw whenever anything that shapes them changed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from pipelines.inventory import adopt_files, changing, write_noted
from pipelines.inventory.record import FORMAT, is_noted
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

# An area is migrated when it is opened. A vault of format 1 lacks the table of erased documents: a version that reads
# no more would encrypt them again, and refuses the folder.
FORMATS = {"raw": 1, "vault": 2, "inbox": 1, "ledger": 1, "inventory": 1}
RESTORING = ".restoring"  # a folder with this name in a data folder: a restore has not ended


def guard_format(data_dir: Path) -> None:
    """Raise SettingsError if a newer version wrote an area of the folder, or if its restore was killed."""
    if (data_dir / RESTORING).exists():
        raise SettingsError(f"{data_dir} was being restored, and that did not end: give `ordermart restore` again")
    for area, version in _written(data_dir).items():
        if version > FORMATS.get(area, 0):
            raise SettingsError(
                f"{data_dir / area} has format {version}, and this version of ordermart reads up to "
                f"{FORMATS.get(area, 0)}: install the version that wrote it, or a later one"
            )


def migrate(data_dir: Path) -> list[str]:
    """Note the present formats in the folder; return a sentence if an older version wrote an area of it."""
    guard_format(data_dir)
    written = _written(data_dir)
    if written == FORMATS:
        return []
    if FORMAT not in written:
        _begin_inventory(data_dir)
    older = [
        f"{area} from {version} to {FORMATS[area]}" for area, version in written.items() if version < FORMATS[area]
    ]
    write_noted(data_dir, _file(data_dir), msgspec.json.encode(FORMATS))
    return [f"The data folder was written by an older version; formats migrated: {', '.join(older)}."] if older else []


def _begin_inventory(data_dir: Path) -> None:
    """Note every file, raw files by the sums that an older version kept of them."""
    older = data_dir / "raw" / "checksums.json"
    with suppress(FileNotFoundError, msgspec.DecodeError), changing(data_dir) as inventory:
        sums = msgspec.json.decode(older.read_bytes(), type=dict[str, tuple[int, str]])
        inventory.files |= {f"raw/{name}": noted for name, noted in sums.items() if (data_dir / "raw" / name).exists()}
    adopt_files(data_dir)
    older.unlink(missing_ok=True)


def note_formats(data_dir: Path) -> None:
    """Note the present formats in a folder to which no load was written yet."""
    if not (data_dir / "raw").exists() and not _file(data_dir).exists():
        write_noted(data_dir, _file(data_dir), msgspec.json.encode(FORMATS))


def _written(data_dir: Path) -> dict[str, int]:
    try:
        if is_noted(data_dir, "format.json", msgspec.json.encode(FORMATS)):
            return FORMATS  # whatever became of the file: the next run writes it again
        return msgspec.json.decode(_file(data_dir).read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError:
        raise SettingsError(f"{_file(data_dir)} cannot be read: restore it from a backup, or remove it") from None


def _file(data_dir: Path) -> Path:
    return data_dir / "format.json"
