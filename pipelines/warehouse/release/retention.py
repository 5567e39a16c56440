"""Decide when changes are due for publication and which releases are kept; remove the others, and unfinished ones."""

from __future__ import annotations

import datetime as dt
import shutil
from typing import TYPE_CHECKING

from pipelines.record import NIGHT
from pipelines.warehouse.release.manifest import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


def deferred_until(published: Path) -> dt.datetime | None:
    """Return when changes that a run for webhooks left unpublished are due, None if there are none."""
    try:
        return dt.datetime.fromisoformat(_deferred(published).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def defer(published: Path, until: dt.datetime) -> None:
    """Record that changes wait for publication until then."""
    _deferred(published).write_text(until.isoformat(), encoding="utf-8")


def is_published(published: Path) -> None:
    """Record that nothing waits for publication."""
    _deferred(published).unlink(missing_ok=True)


def superfluous(releases: Path, settings: Settings) -> list[Path]:
    """Return the releases to remove, oldest first: neither of the newest nor among the last nights' own.

    The newest [warehouse] keep_releases of any run are kept, and besides them [release] keep_nights of nightly runs.
    """
    found = sorted((each for each in releases.iterdir() if not each.name.startswith(".")), reverse=True)
    older = found[settings.warehouse.keep_releases :]
    newer_nights = sum(_is_of_a_night(each) for each in found[: settings.warehouse.keep_releases])
    nights = [each for each in older if _is_of_a_night(each)]
    kept = nights[: max(settings.release.keep_nights - newer_nights, 0)]
    return sorted(each for each in older if each not in kept)


def _is_of_a_night(release: Path) -> bool:
    manifest = read_manifest(release)
    return manifest is not None and manifest.run == NIGHT


def _deferred(published: Path) -> Path:
    return published / "publication_due"


UNFINISHED = ".unfinished-"


def make_room(settings: Settings) -> None:
    """Remove what no release needs before a build looks how much room there is. The caller holds the run lock."""
    published = settings.data_dir / "published"
    if (published / "releases").exists():
        sweep(published)
        prune(published, settings)


def sweep(published: Path) -> None:
    """Remove what a killed or failed publication left."""
    for each in (published / "releases").glob(UNFINISHED + "*"):
        shutil.rmtree(each)
    (published / f"{UNFINISHED}current").unlink(missing_ok=True)


def prune(published: Path, settings: Settings) -> None:
    """Remove the releases that settings do not keep, never the current one."""
    current = (published / "current").resolve()
    for old in superfluous(published / "releases", settings):
        if old.resolve() != current:
            remove_release(old)


def remove_release(release: Path) -> None:
    """Remove a release, never the current one; what a kill leaves of it goes with the next publication."""
    gone = release.with_name(UNFINISHED + release.name)
    release.rename(gone)
    shutil.rmtree(gone)
