"""Make Dagster's SQLite storage cheaper: keep its engines and connections, and give each run's database small pages.

Dagster creates an engine for each use. A new engine inspects the database and compiles every statement again, which is
about half of what an event costs. It also opens a connection for each use; closing the last one of a database writes
its log back. A command keeps its connections while a run lasts; elsewhere they are closed after each use. For each
database Dagster reads all of its scripts of migration; they are read once. The database of a run has forty tables and
indexes, most of them empty: small pages keep it small. Knows nothing of runs or events.
"""

from __future__ import annotations

import functools
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from sqlalchemy.pool import QueuePool

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from alembic.config import Config

_PAGE = 1024  # bytes
_OF_A_RUN = re.compile(r"/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.db$")
_OF_ENGINES: dict[str, Any] = {}  # options of engines besides Dagster's, while connections are kept
_KEPT = 8  # a run has its own database of events; a process that lives long sees many


class _KeptConnections(QueuePool):
    """Connections that stay open although Dagster disposes of its engine after each use."""

    opened: ClassVar[list[_KeptConnections]] = []

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.opened.append(self)

    def dispose(self) -> None:
        """Do nothing: `close` disposes of them."""

    def recreate(self) -> _KeptConnections:
        """Return the same connections."""
        return self

    def close(self) -> None:
        """Close all connections."""
        super().dispose()


def keep_engines() -> None:
    """Have this process use engines again for as long as it lives."""
    for module in (sqlite_event_log, sqlite_run_storage):
        module.create_engine = _engine_of  # type: ignore[attr-defined]
    _read_scripts_once()


@contextmanager
def kept_connections() -> Iterator[None]:
    """Have engines that are made meanwhile keep their connections; close them on leaving."""
    _kept_engine.cache_clear()
    _OF_ENGINES["poolclass"] = _KeptConnections
    try:
        yield
    finally:
        _OF_ENGINES.clear()
        _kept_engine.cache_clear()
        while _KeptConnections.opened:
            _KeptConnections.opened.pop().close()


def _engine_of(url: str, *, connect_args: dict[str, Any] | None = None, **options: Any) -> sqlalchemy.Engine:
    return _kept_engine(url, tuple(sorted((connect_args or {}).items())), tuple(sorted(options.items())))


@functools.lru_cache(_KEPT)
def _kept_engine(
    url: str, connect_args: tuple[tuple[str, Any], ...], options: tuple[tuple[str, Any], ...]
) -> sqlalchemy.Engine:
    engine = sqlalchemy.create_engine(url, connect_args=dict(connect_args), **dict(options) | _OF_ENGINES)
    if _OF_A_RUN.search(url):
        sqlalchemy.event.listen(engine, "connect", _take_small_pages)
    return engine


def _take_small_pages(connection: sqlite3.Connection, _record: object) -> None:
    """Have a database that is still empty take less for each of its tables and indexes: most stay empty."""
    connection.execute(f"pragma page_size = {_PAGE}")


@functools.cache
def _read_scripts_once() -> None:
    """Have Alembic read the scripts of migration of a folder once: it executes fifty of them."""
    read = ScriptDirectory.from_config
    found: dict[str | None, ScriptDirectory] = {}

    def from_config(config: Config) -> ScriptDirectory:
        folder = config.get_main_option("script_location")
        if folder not in found:
            found[folder] = read(config)
        return found[folder]

    ScriptDirectory.from_config = staticmethod(from_config)  # type: ignore[method-assign]
