"""Check before a build that the disk has room for it and for its release."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pipelines.landing.disk import DiskFullError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

INCREMENT = 2  # times the warehouse file: the release's copy of it, and the pages written before the commit
FULL = 3  # times the warehouse file: the new one beside the old one, the release's copy, and its Parquet
FIRST = 12  # times the documents in data/raw, which are compressed: for a full build without a warehouse file
_MIB = 1 << 20


def needed_bytes(file: Path, documents: Iterable[Path], *, full: bool) -> int:
    """Return how much room a build and its release take; `file` is the warehouse, which may not be there yet."""
    if file.exists():
        return file.stat().st_size * (FULL if full else INCREMENT)
    return FIRST * sum(path.stat().st_size for path in documents)


def require_room(data_dir: Path, needed: int) -> None:
    """Raise DiskFullError if less than that is free below the data folder."""
    free = shutil.disk_usage(data_dir).free
    if free < needed:
        raise DiskFullError(
            f"This build and its release need about {needed // _MIB + 1:,} MiB below {data_dir}, and "
            f"{free // _MIB:,} MiB are free: nothing was built. Free some, as {data_dir}/warehouse/*.damaged-*, or "
            "lower [warehouse] keep_releases and [release] keep_nights, and run again: what was landed stays, and so "
            "does the last release"
        )
