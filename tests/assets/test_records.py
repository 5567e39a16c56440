"""What Dagster keeps of old runs goes, all of it, and what it needs of the others stays.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

import datetime as dt
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.run.dagster_records import prune_records, trim_records

RUNS = 16
DAYS = 2.0


@dg.asset
def table(context: dg.AssetExecutionContext) -> None:
    """Log an event of its own and a check, as a build does."""
    context.log_event(dg.AssetMaterialization("other", metadata={"text": "x" * 20_000}))
    context.log_event(dg.AssetCheckEvaluation(asset_key=dg.AssetKey("other"), check_name="holds", passed=True))


def count(file: Path, query: str) -> int:
    """Return the count that a query gives."""
    with closing(sqlite3.connect(file)) as db:
        return int(db.execute(query).fetchone()[0])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the home of an instance with a run every six hours, the last one now."""
    folder = tmp_path_factory.mktemp("dagster")
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        for _ in range(RUNS):
            assert dg.materialize([table], instance=instance).success
    now = dt.datetime.now(dt.UTC)
    with closing(sqlite3.connect(folder / "history" / "runs.db")) as db, db:
        ids = [row[0] for row in db.execute("select run_id from runs order by id")]
        moments = {run: f"{now - dt.timedelta(hours=6 * n):%F %T}" for n, run in enumerate(reversed(ids))}
        db.executemany("update runs set create_timestamp = ? where run_id = ?", [(at, i) for i, at in moments.items()])
    with closing(sqlite3.connect(folder / "history" / "runs" / "index.db")) as db, db:
        for name, column in (("event_logs", "timestamp"), ("asset_check_executions", "create_timestamp")):
            query = f"update {name} set {column} = ? where run_id = ?"
            db.executemany(query, [(at, run) for run, at in moments.items()])
    return folder


@pytest.mark.slow
def test_old_runs_leave_nothing(home: Path) -> None:
    """Rows, events, checks, databases and logs of old runs go, the files shrink, and Dagster reads the others."""
    index = home / "history" / "runs" / "index.db"
    files, size = len(list(index.parent.glob("*.db"))), index.stat().st_size
    kept = 10  # the newest, though only nine are of the last two days
    assert prune_records(home, DAYS, dt.datetime.now(dt.UTC)) == RUNS - kept
    assert len(list(index.parent.glob("*.db"))) == files - (RUNS - kept)
    assert len(list((home / "storage").iterdir())) <= kept + 1
    assert index.stat().st_size < size * 0.7
    assert count(index, "select count(distinct run_id) from event_logs") == kept
    assert count(index, "select count(distinct run_id) from asset_check_executions") == kept
    with dg.DagsterInstance.from_config(str(home)) as instance:
        runs = instance.get_runs()
        assert len(runs) == kept
        assert all(instance.all_logs(run.run_id) for run in runs)
        assert all(instance.get_job_snapshot(str(run.job_snapshot_id)) for run in runs)
        assert all(instance.get_execution_plan_snapshot(str(run.execution_plan_snapshot_id)) for run in runs)
        assert instance.get_latest_materialization_event(dg.AssetKey("other")) is not None
        assert dg.materialize([table], instance=instance).success
    assert prune_records(home, DAYS, dt.datetime.now(dt.UTC)) == 1


def test_another_storage_is_left_alone(tmp_path: Path) -> None:
    """Without Dagster's SQLite files there is nothing to remove, and nothing fails."""
    assert prune_records(tmp_path, DAYS, dt.datetime.now(dt.UTC)) == 0


@pytest.mark.slow
def test_a_run_leaves_of_those_before_it_what_is_still_true(tmp_path: Path) -> None:
    """Planned tables and superseded passes go; failures, the last pass of each check, and materializations stay."""
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:

        def run(*, passed: bool) -> str:
            @dg.asset(name="other", check_specs=[dg.AssetCheckSpec("holds", asset="other")])
            def checked() -> Iterator[Any]:
                yield dg.MaterializeResult(check_results=[dg.AssetCheckResult(passed=passed, check_name="holds")])

            return dg.materialize([checked], instance=instance).run_id

        first, failed, second, last = run(passed=True), run(passed=False), run(passed=True), run(passed=True)
        sizes = [(tmp_path / "history" / "runs" / f"{each}.db").stat().st_size for each in (first, last)]
        trim_records(tmp_path, last)
        assert (tmp_path / "history" / "runs" / f"{first}.db").stat().st_size < sizes[0] / 2
        assert (tmp_path / "history" / "runs" / f"{last}.db").stat().st_size == sizes[1]
        types = {
            each: Counter(
                str(entry.dagster_event.event_type_value) for entry in instance.all_logs(each) if entry.dagster_event
            )
            for each in (first, failed, second, last)
        }
        assert [types[each]["ASSET_MATERIALIZATION"] for each in types] == [1, 1, 1, 1]
        assert [types[each]["ASSET_MATERIALIZATION_PLANNED"] for each in types] == [0, 0, 0, 1]
        assert [types[each]["ASSET_CHECK_EVALUATION"] for each in types] == [0, 1, 0, 1]
        history = instance.event_log_storage.get_asset_check_execution_history(
            dg.AssetCheckKey(dg.AssetKey("other"), "holds"), limit=10
        )
        assert [each.run_id for each in history] == [last, failed]
        assert instance.get_latest_materialization_event(dg.AssetKey("other")) is not None
    trim_records(tmp_path / "elsewhere", last)
