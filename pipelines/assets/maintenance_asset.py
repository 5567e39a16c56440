"""The last asset of a nightly run: maintenance.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

import sqlite3
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from pipelines.assets.raw import OWNER
from pipelines.assets.records import prune_records
from pipelines.ingest.maintenance import TaskResult, run_maintenance
from pipelines.settings import Settings


@dg.asset(
    key="maintenance",
    deps=["warehouse"],
    group_name="release",
    owners=[OWNER],
    kinds={"python"},
    required_resource_keys={"settings", "run_lock"},
    description="Maintenance after a nightly release: prune deliveries, work-list entries, quarantined payloads and "
    "Dagster's old runs by retention, merge the small files of past days, verify a part of the warehouse. A failed "
    "task is reported and does not fail the run.",
)
def maintenance(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
    """Run the maintenance tasks and report each result."""
    settings = context.resources.settings
    results = [*run_maintenance(settings), _prune_dagster(settings)]
    for result in results:
        (context.log.warning if result.error else context.log.info)(result.sentence())
    return dg.MaterializeResult(metadata={result.task: result.error or result.items for result in results})


def _prune_dagster(settings: Settings) -> TaskResult:
    task = "old Dagster runs removed"
    try:
        home = settings.data_dir / "dagster"
        return TaskResult(task, prune_records(home, settings.dagster.keep_days, datetime.now(UTC)))
    except (OSError, sqlite3.Error) as error:
        return TaskResult(task, 0, f"{type(error).__name__}: {error}")
