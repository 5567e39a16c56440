"""Make Dagster's SQLite storage cheaper: keep its SQLAlchemy engines, and give each run's database small pages.

Dagster creates an engine for each use. A new engine inspects the database and compiles every statement again, which is
about half of what an event costs. Connections are still opened for each use and closed after it. The database of a run
has forty tables and indexes, most of them empty: small pages keep it small. Knows nothing of runs or events.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import sqlalchemy
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage

if TYPE_CHECKING:
    import sqlite3

_PAGE = 1024  # bytes
_OF_A_RUN = re.compile(r"/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.db$")
_KEPT = 8  # a run has its own database of events; a process that lives long sees many


def keep_engines() -> None:
    """Have this process use engines again for as long as it lives."""
    for module in (sqlite_event_log, sqlite_run_storage):
        module.create_engine = _engine_of  # type: ignore[attr-defined]


def _engine_of(url: str, *, connect_args: dict[str, Any] | None = None, **options: Any) -> sqlalchemy.Engine:
    return _kept_engine(url, tuple(sorted((connect_args or {}).items())), tuple(sorted(options.items())))


@functools.lru_cache(_KEPT)
def _kept_engine(
    url: str, connect_args: tuple[tuple[str, Any], ...], options: tuple[tuple[str, Any], ...]
) -> sqlalchemy.Engine:
    engine = sqlalchemy.create_engine(url, connect_args=dict(connect_args), **dict(options))
    if _OF_A_RUN.search(url):
        sqlalchemy.event.listen(engine, "connect", _take_small_pages)
    return engine


def _take_small_pages(connection: sqlite3.Connection, _record: object) -> None:
    """Have a database that is still empty take less for each of its tables and indexes: most stay empty."""
    connection.execute(f"pragma page_size = {_PAGE}")
