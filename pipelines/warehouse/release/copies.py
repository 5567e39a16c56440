"""Copies of a release on other machines: which there are, and what each of them has.

`copies.json` remembers them, so that the receipt of an erasure names every copy that is older than it.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pipelines.durable import write_whole
from pipelines.record import current_release
from pipelines.settings import Settings
from pipelines.warehouse.release.manifest import ReleaseManifest, read_manifest

_FILE = "copies.json"  # not below published/, which people may remove


class CopyError(Exception):
    """Nothing was copied, the copy has the release that it had; the message says why."""


@dataclass(frozen=True)
class Copied:
    """The release that a copy has now, and what was written for it: parts with rows, or objects with bytes."""

    release_id: str
    place: str
    tables: int = 0
    parts: int = 0
    rows: int = 0
    objects: int = 0
    bytes: int = 0
    note: str = ""

    def sentence(self) -> str:
        """Return what was copied, for people."""
        wrote = "nothing differed"
        if self.parts:
            wrote = f"{self.rows:,} rows in {self.parts:,} parts of {self.tables:,} tables"
        elif self.objects:
            wrote = f"{self.bytes:,} bytes in {self.objects:,} objects"
        return f"Copied release {self.release_id} to {self.place}: {wrote}.{self.note}"


def copy_release(settings: Settings, url: str, progress: Callable[[str, int, int], None] | None = None) -> Copied:
    """Bring the current release to a URL: a PostgreSQL database or object storage.

    Raise SettingsError for a URL with a secret or of another scheme, or without the library that it needs; CopyError if
    the copy keeps the release that it had.
    """
    from pipelines.warehouse.release import object_storage, postgres  # noqa: PLC0415 -- each needs another extra

    if object_storage.is_storage_url(url):
        return object_storage.copy_to_storage(settings, url, progress)
    return postgres.copy_to_postgres(settings, url, progress)


def release_to_copy(settings: Settings) -> tuple[Path, ReleaseManifest]:
    """Return the folder and the manifest of the current release; raise CopyError without one."""
    release = current_release(settings.data_dir / "published")
    if release is None:
        raise CopyError("there is no release to copy: run `ordermart run` first")
    manifest = read_manifest(release)
    if manifest is None:
        raise CopyError(f"{release} has no manifest that can be read: run `ordermart build`")
    return release.resolve(), manifest


def known_copies(data_dir: Path) -> dict[str, str]:
    """Return the time of the release that each copy has, by its place; "" if it is not known."""
    try:
        return msgspec.json.decode((data_dir / _FILE).read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {f"whatever {data_dir / _FILE} named, which cannot be read": ""}


def copies_holding(data_dir: Path, erased_at: dt.datetime | None) -> list[str]:
    """Return the places of copies of releases from before an erasure."""
    if erased_at is None:
        return []
    known = known_copies(data_dir)
    return [place for place, of in known.items() if not of or dt.datetime.fromisoformat(of) < erased_at]


def remember_copy(data_dir: Path, place: str, of: str) -> None:
    """Note that a place has a copy of a release of that time, "" while it is being written."""
    write_whole(data_dir / _FILE, msgspec.json.encode(known_copies(data_dir) | {place: of}))
