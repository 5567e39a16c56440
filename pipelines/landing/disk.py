"""Recognise a full disk in an error of Python, DuckDB or SQLite, and say what to do in one sentence."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SIGNS = ("no space left on device", "disk quota exceeded", "disk is full", "disk full")
_MIB = 1 << 20


class DiskFullError(Exception):
    """The disk of the data folder is full; the message says what failed and what to free."""


@contextmanager
def naming_a_full_disk(data_dir: Path) -> Iterator[None]:
    """Raise DiskFullError for any error of the block that comes of a full disk."""
    try:
        yield
    except DiskFullError:
        raise
    except Exception as error:
        if sentence := disk_full(str(error), data_dir):
            raise DiskFullError(sentence) from None
        raise


def disk_full(text: str, data_dir: Path) -> str:
    """Return the sentence for an error text that comes of a full disk; "" for any other."""
    if not any(sign in text.lower() for sign in _SIGNS):
        return ""
    free = shutil.disk_usage(data_dir).free if data_dir.exists() else 0
    warehouse = data_dir / "warehouse" / "warehouse.duckdb"
    needed = 3 * (warehouse.stat().st_size if warehouse.exists() else 0)
    wanted = f"a build and its release take about {needed // _MIB + 1:,} MiB" if needed else "more is needed"
    first = " ".join(text.split())
    return (
        f"The disk of {data_dir} is full: {free // _MIB:,} MiB are free, {wanted}. What failed: {first[:200]}. Free "
        f"some, such as {data_dir}/warehouse/*.damaged-*, or lower [warehouse] keep_releases and [release] "
        "keep_nights, and run again: what was landed stays, and so does the last release"
    )
