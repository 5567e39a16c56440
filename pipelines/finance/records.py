"""Rows of a release as dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.literals import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

MOST = 10_000  # signs of a text, such as a sentence that names many values


def records(db: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries by column name, to be shown: each text on one plain line."""
    cursor = db.execute(query, list(values))
    names = [column[0] for column in cursor.description or ()]
    return [{name: _shown(value) for name, value in zip(names, row, strict=True)} for row in cursor.fetchall()]


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    return one_line(value, MOST) if isinstance(value, str) else value


def tables_of(db: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the release's tables; a release of an older version lacks some."""
    return {name for (name,) in db.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()}
