"""Rows of a release as dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb


def records(db: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries by column name."""
    cursor = db.execute(query, list(values))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def tables_of(db: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the release's tables; a release of an older version lacks some."""
    return {name for (name,) in db.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()}
