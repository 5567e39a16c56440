"""Remove releases that settings do not keep, and what an unfinished publication left."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pipelines.warehouse.release import need

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings

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
    for old in need.superfluous(published / "releases", settings):
        if old.resolve() != current:
            remove_release(old)


def remove_release(release: Path) -> None:
    """Remove a release, never the current one; what a kill leaves of it goes with the next publication."""
    gone = release.with_name(UNFINISHED + release.name)
    release.rename(gone)
    shutil.rmtree(gone)
