"""Dagster's storage in this process: the same events, at a fraction of the engines."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import dagster as dg
import sqlalchemy
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.runs.sqlite import sqlite_run_storage

from pipelines.assets import storage_engines
from pipelines.assets.home import dagster_home, instance_of_command

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EVENTS = 6


@dg.job
def nothing() -> None:
    """Do nothing."""


@dg.op
def step() -> None:
    """Print nothing."""


@dg.job
def nothing_printed() -> None:
    """Do a step."""
    step()


def test_a_run_takes_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of a run is a third of what Dagster would take; the others are as Dagster writes them."""
    for module in (sqlite_event_log, sqlite_run_storage):
        monkeypatch.setattr(module, "create_engine", sqlalchemy.create_engine)  # as Dagster has it
    sizes = []
    for keeps in (False, True):
        if keeps:
            storage_engines.keep_engines()
        home = tmp_path / str(keeps)
        home.mkdir()
        with dg.DagsterInstance.local_temp(str(home)) as instance:
            run_id = nothing.execute_in_process(instance=instance).run_id
            assert len(instance.all_logs(run_id)) > 0
        sizes.append((home / "history" / "runs" / f"{run_id}.db").stat().st_size)
        with sqlite3.connect(home / "history" / "runs" / "index.db") as db:
            assert db.execute("pragma page_size").fetchone() == (4096,)
    assert sizes[1] < sizes[0] / 2
    storage_engines._kept_engine.cache_clear()


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


def test_a_run_keeps_its_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events open no database again while they are kept, and are all stored; afterwards none is left open."""
    for module in (sqlite_event_log, sqlite_run_storage):
        monkeypatch.setattr(module, "create_engine", module.create_engine)  # as it was, after this test
    storage_engines.keep_engines()
    connect, opened = sqlite3.connect, []

    def counted(path: str, *arguments: Any, **options: Any) -> Any:
        opened.append(path)
        return connect(path, *arguments, **options)

    home = tmp_path / "history" / "runs"
    monkeypatch.setattr(sqlite3.dbapi2, "connect", counted)
    with storage_engines.kept_connections(), dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        run_id = nothing.execute_in_process(instance=instance).run_id
        instance.report_runless_asset_event(dg.AssetMaterialization("a"))
        before = len(opened)
        for _ in range(EVENTS - 1):
            instance.report_runless_asset_event(dg.AssetMaterialization("a"))
        assert len(opened) == before
    assert not list(home.glob("*-wal"))  # the last connection to be closed writes the log back
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        before = len(opened)
        assert len(instance.fetch_materializations(dg.AssetKey("a"), limit=10).records) == EVENTS
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS]
        assert len(instance.all_logs(run_id)) > 0
        assert len(opened) - before > 1
    storage_engines._kept_engine.cache_clear()


def test_scripts_of_migration_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two homes with three databases each, and at most one reading."""
    monkeypatch.setattr(ScriptDirectory, "from_config", ScriptDirectory.from_config)  # as it was, after this test
    made: list[ScriptDirectory] = []
    init = ScriptDirectory.__init__

    def counted(self: ScriptDirectory, *arguments: Any, **options: Any) -> None:
        made.append(self)
        init(self, *arguments, **options)

    monkeypatch.setattr(ScriptDirectory, "__init__", counted)
    storage_engines._read_scripts_once.__wrapped__()
    for name in "ab":
        (tmp_path / name).mkdir()
        with dg.DagsterInstance.local_temp(str(tmp_path / name)):
            pass
    assert len(made) <= 1  # none where a test before read them


def test_what_steps_print_is_kept_only_where_dagster_yaml_says_how(tmp_path: Path) -> None:
    """A run of the command starts no process for it; the pages and the daemon read dagster.yaml as before."""
    local = f"compute_logs: {{module: {LocalComputeLogManager.__module__}, class: LocalComputeLogManager, config: "
    for said, kept in (("", 0), (local, 2)):
        data = tmp_path / str(kept)
        with (dagster_home(data) / "dagster.yaml").open("a", encoding="utf-8") as file:
            file.write(said and f"{said}{{base_dir: {data}/logs}}}}\n")
        with instance_of_command(data) as instance:
            assert nothing_printed.execute_in_process(instance=instance).success
        assert len([each for each in data.rglob("compute_logs/*") if each.suffix in {".out", ".err"}]) == kept
        with dg.DagsterInstance.get() as instance:
            assert isinstance(instance.compute_log_manager, LocalComputeLogManager)
