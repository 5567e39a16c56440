"""What Dagster keeps of old runs goes by its own interface, and what it needs of the others stays."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from pipelines.assets import dagster_history
from pipelines.assets.dagster_history import forget_old_runs, key_of, news
from pipelines.record import NIGHT, WEBHOOKS
from pipelines.warehouse.rows.fresh_rows import CheckResult

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dg.op
def nothing() -> None:
    """Do nothing."""


def job_of(name: str) -> dg.JobDefinition:
    """Return a job of this name."""
    return dg.JobDefinition(name=name, graph_def=dg.GraphDefinition(name=name, node_defs=[nothing]))


def runs(instance: dg.DagsterInstance, job: str, count: int, status: DagsterRunStatus) -> list[str]:
    """Make runs of a job, and return their ids."""
    made = job_of(job)
    return [instance.create_run_for_job(made, status=status).run_id for _ in range(count)]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Give an instance that keeps its records on the disk."""
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(tmp_path)) as made:
        yield made


@pytest.mark.slow
def test_old_runs_leave_nothing(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """Of runs for webhooks the newest hundred stay, nights as long as asked for, and no file of others."""
    nights = runs(instance, NIGHT, 2, DagsterRunStatus.SUCCESS)
    alive = runs(instance, WEBHOOKS, 1, DagsterRunStatus.STARTED)
    frequent = [job_of(WEBHOOKS).execute_in_process(instance=instance).run_id]
    frequent += runs(instance, WEBHOOKS, dagster_history._KEPT + 2, DagsterRunStatus.FAILURE)
    folder, output = tmp_path / "history" / "runs", tmp_path / "storage" / frequent[0]
    assert (folder / f"{frequent[0]}.db").exists()
    assert [each for each in output.rglob("*") if each.is_file()]
    assert forget_old_runs(instance, 14.0) == 3
    assert {run.run_id for run in instance.get_runs()} == {*nights, *alive, *frequent[3:]}
    assert not (folder / f"{frequent[0]}.db").exists()
    assert not output.exists()
    assert forget_old_runs(instance, 14.0) == 0
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=15)
    while forget_old_runs(instance, 14.0, later):
        pass
    assert [run.run_id for run in instance.get_runs()] == alive


def test_only_checks_that_changed_or_are_of_changed_tables_are_shown_again(instance: dg.DagsterInstance) -> None:
    """What Dagster shows already is not written once more."""

    def results(broken: int) -> list[CheckResult]:
        return [
            CheckResult("core.a__holds", "core.a", "blocking", 0),
            CheckResult("core.b__holds", "core.b", "blocking", broken),
            CheckResult("core.b__is_usual", "core.b", "warning", 2),
        ]

    def said(broken: int, *changed: str) -> list[tuple[dg.AssetKey, str, bool]]:
        found = list(news(instance, results(broken), changed))
        for each in found:
            instance.report_runless_asset_event(each)
        return [(each.asset_key, each.check_name, each.passed) for each in found]

    a, b = key_of("core.a"), key_of("core.b")
    assert said(0) == [(a, "holds", True), (b, "holds", True), (b, "warnings", False)]
    assert said(0) == []
    assert said(3) == [(b, "holds", False)]
    assert said(3, "core.a") == [(a, "holds", True)]
    assert said(0) == [(b, "holds", True)]
