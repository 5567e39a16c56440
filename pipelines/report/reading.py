"""Open the release that readers see, resolved once, for whoever tells what is in it.

Knows nothing of what is asked of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings


class NoReleaseError(Exception):
    """There is no release to read yet; the message says how to make one."""


@contextmanager
def open_release(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the current release read-only, in UTC; raise NoReleaseError before the first."""
    current = settings.data_dir / "published" / "current"
    if not current.exists():
        raise NoReleaseError(f"there is no release below {settings.data_dir} yet: `ordermart run` makes one")
    with duckdb.connect(str(current.resolve() / "ordermart.duckdb"), read_only=True) as db:
        db.execute("set timezone = 'UTC'")
        yield db


def rows(db: duckdb.DuckDBPyConnection, query: str, values: list[Any] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a query, each by column name."""
    result = db.execute(query, values)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
