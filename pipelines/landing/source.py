"""Remember which service the landed data came from, and refuse another one; remember where the erasure log is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipelines.inventory import read_inventory, write_noted
from pipelines.landing.formats import guard_format, note_formats
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

_URL, _LOG = "base_url", "erasure_log"


def guard_source(settings: Settings) -> None:
    """Note base_url when data/ is new; raise SettingsError when its documents came from another service.

    The same where a newer version of ordermart wrote it.
    """
    guard_format(settings.data_dir)
    path = _file(settings.data_dir)
    here = settings.partner.base_url.rstrip("/")
    known = _notes(settings.data_dir)
    if _URL not in known:
        if "raw/source.json" in read_inventory(settings.data_dir).files:
            raise SettingsError(f"{path} was there and is missing or damaged: restore it from a backup")
        note_formats(settings.data_dir)
        write_noted(settings.data_dir, path, msgspec.json.encode(known | {_URL: here}))
        return
    if known[_URL] != here:
        raise SettingsError(
            f"{settings.data_dir} holds data of {known[_URL]}, and [partner] base_url is {here}: "
            "set it back, name another [data] dir or, if the same service moved, run "
            f"`ordermart source move {known[_URL]} {here}`"
        )


def source_of(data_dir: Path) -> str:
    """Return the address that the landed data came from; "" if nothing has landed."""
    return _notes(data_dir).get(_URL, "")


def note_source(data_dir: Path, base_url: str) -> None:
    """Note another address of the same service."""
    write_noted(data_dir, _file(data_dir), msgspec.json.encode(_notes(data_dir) | {_URL: base_url}))


def erasure_log_place(folder: Path) -> str:
    """Return where the erasure log was when the last backup of a data folder was taken; "" before the first."""
    return _notes(folder).get(_LOG, "")


def remember_erasure_log(data_dir: Path, place: Path) -> None:
    """Note where the erasure log is; backups carry the note."""
    known = _notes(data_dir)
    if known.get(_LOG) != str(place):
        write_noted(data_dir, _file(data_dir), msgspec.json.encode(known | {_LOG: str(place)}))


def notes_of(settings: Settings, log: Path | None) -> list[bytes]:
    """Return what the file can hold by the settings, before and after the first backup."""
    here = {_URL: settings.partner.base_url.rstrip("/")}
    return [msgspec.json.encode(notes) for notes in (here, here | {_LOG: str(log)})]


def _notes(folder: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(_file(folder).read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError:
        raise SettingsError(
            f"{_file(folder)} is damaged: restore it from a backup, or remove it if the data came from "
            "[partner] base_url"
        ) from None


def _file(folder: Path) -> Path:
    return folder / "raw" / "source.json"
