"""Open the current release in a notebook or script: `con = connect()`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pipelines.record import current_release
from pipelines.settings import load_settings
from pipelines.warehouse.release.manifest import DATABASE

if TYPE_CHECKING:
    from collections.abc import Mapping


class NoReleaseError(Exception):
    """There is no release to open; the message says where."""


def connect(
    data: Path | str | None = None, *, config: Path | str | None = None, options: Mapping[str, str] | None = None
) -> duckdb.DuckDBPyConnection:
    """Open the current release, read-only and in UTC; the connection stays on it whatever is published later.

    `data` is a data folder or a release's own folder; without it, the data folder of the settings (`config`, else as
    the command finds them). `options` are DuckDB's, such as memory_limit. Raise NoReleaseError if there is no release.
    Amounts: take `.arrow()` or `.fetchall()`; `.df()` turns decimals into floats.
    """
    folder = Path(data) if data is not None else load_settings(Path(config) if config else None).data_dir
    release = folder if (folder / DATABASE).exists() else current_release(folder / "published")
    if release is None:
        raise NoReleaseError(f"there is no release in {folder / 'published'}: run `ordermart run` first")
    con = duckdb.connect(str(release.resolve() / DATABASE), read_only=True, config=dict(options or {}))
    con.execute("set timezone = 'UTC'")
    return con
