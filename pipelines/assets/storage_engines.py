"""Let Dagster's SQLite storage use an engine more than once: it makes one for each of its statements.

A new engine asks the database what it can do, and compiles every statement again: about half of what an event costs.
A connection is still opened for each use and closed after it. Knows nothing of runs or events.
"""

from __future__ import annotations

import functools
from typing import Any

import sqlalchemy
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage

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
    return sqlalchemy.create_engine(url, connect_args=dict(connect_args), **dict(options))
