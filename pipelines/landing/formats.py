"""Know in which format a data folder was written: refuse newer ones, bring older ones to the present one.

`data/format.json` names a version for each area that cannot be rebuilt. Warehouse and releases need none: they are
rebuilt from raw whenever anything that shapes them changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipelines.durable import make_folder, write_whole
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# 0 stands for a folder from before versions were kept.
FORMATS = {"raw": 1, "vault": 2, "inbox": 1, "ledger": 1}
# (area, version) → what brings that area of a data folder from this version to the next one. Files of format 0 are
# those of format 1: each reader takes columns that are missing for null. Vaults of format 2 know which documents were
# erased: opening adds the table, and an older version, which would encrypt them again, refuses the folder.
RESTORING = ".restoring"  # a folder with this name in a data folder: a restore has not ended
_MIGRATIONS: dict[tuple[str, int], Callable[[Path], None]] = {}


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
    """Bring every area of the folder to its present format; return a sentence where anything was brought there.

    A load notes the formats before it writes: a folder without either is new, whatever a receiver or a key wrote to it.
    """
    guard_format(data_dir)
    written = _written(data_dir)
    if written == FORMATS:
        return []
    is_new = not written and not (data_dir / "raw").exists()
    older = []
    for area, wanted in FORMATS.items():
        if not (data_dir / area).exists():
            continue
        for version in range(written.get(area, 0), wanted):
            if step := _MIGRATIONS.get((area, version)):
                step(data_dir / area)
        if not is_new and written.get(area, 0) < wanted:
            older.append(f"{area} from {written.get(area, 0)} to {wanted}")
    make_folder(data_dir)
    write_whole(_file(data_dir), msgspec.json.encode(FORMATS))
    return [f"The data folder was written by an older version; formats migrated: {', '.join(older)}."] if older else []


def note_formats(data_dir: Path) -> None:
    """Note the present formats in a folder to which no load was written yet."""
    if not (data_dir / "raw").exists() and not _file(data_dir).exists():
        make_folder(data_dir)
        write_whole(_file(data_dir), msgspec.json.encode(FORMATS))


def _written(data_dir: Path) -> dict[str, int]:
    try:
        return msgspec.json.decode(_file(data_dir).read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError:
        raise SettingsError(f"{_file(data_dir)} cannot be read: restore it from a backup, or remove it") from None


def _file(data_dir: Path) -> Path:
    return data_dir / "format.json"
