"""Open the release that readers see, read-only.

Knows where releases are, not what is in them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb

from pipelines.report.summary import current_release

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipelines.settings import Settings


class NoReleaseError(Exception):
    """There is no release to look at yet."""


@contextmanager
def open_release(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give the release's database, resolved once, so that the next one changes nothing; raise NoReleaseError."""
    release = current_release(settings)
    if release is None:
        raise NoReleaseError(f"there is no release in {settings.data_dir} yet: `ordermart run` makes the first")
    with duckdb.connect(str(release / "ordermart.duckdb"), read_only=True) as db:
        db.execute("set timezone = 'UTC'")
        yield db


def records(db: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return the rows of a query, each by column name."""
    cursor = db.execute(query, list(values))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def tables_of(db: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the release's tables: one that an older version made lacks some."""
    return {name for (name,) in db.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()}
