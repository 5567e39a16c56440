"""Dagster's storage in this process: the same events, at a fraction of the engines."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import dagster as dg
import sqlalchemy
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage

from pipelines.assets import storage_engines

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EVENTS = 6


def test_engines_are_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events cost no engine each, are all stored, and no connection stays open: a file can be removed."""
    make, made = sqlalchemy.create_engine, []

    def counted(*arguments: Any, **options: Any) -> sqlalchemy.Engine:
        made.append(arguments)
        return make(*arguments, **options)

    monkeypatch.setattr(sqlalchemy, "create_engine", counted)
    for module in (sqlite_event_log, sqlite_run_storage):
        monkeypatch.setattr(module, "create_engine", counted)  # as it was, after this test
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        before = len(made)
        instance.report_runless_asset_event(dg.AssetMaterialization("a"))
        without = len(made) - before
        storage_engines.keep_engines()
        instance.report_runless_asset_event(dg.AssetMaterialization("a"))
        before = len(made)
        for _ in range(EVENTS - 2):
            instance.report_runless_asset_event(dg.AssetMaterialization("a"))
        assert len(made) == before
        assert without > 1
        found = instance.fetch_materializations(dg.AssetKey("a"), limit=10).records
        assert len(found) == EVENTS
    with sqlite3.connect(tmp_path / "history" / "runs" / "index.db", isolation_level=None) as db:
        assert db.execute("pragma wal_checkpoint(truncate)").fetchone() == (0, 0, 0)
        db.execute("begin exclusive")  # nobody else has it open for a transaction
        db.execute("rollback")
    storage_engines._kept_engine.cache_clear()
