"""The last asset of a nightly run: maintenance.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

from typing import Any

import dagster as dg

from pipelines.assets.raw import OWNER
from pipelines.ingest.maintenance import run_maintenance


@dg.asset(
    key="maintenance",
    deps=["warehouse"],
    group_name="release",
    owners=[OWNER],
    kinds={"python"},
    required_resource_keys={"settings", "run_lock"},
    description="Maintenance after a nightly release: prune deliveries, work-list entries and quarantined payloads by "
    "retention, merge the small files of past days. A failed task is reported and does not fail the run.",
)
def maintenance(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
    """Run the maintenance tasks and report each result."""
    results = run_maintenance(context.resources.settings)
    for result in results:
        (context.log.warning if result.error else context.log.info)(result.sentence())
    return dg.MaterializeResult(metadata={result.task: result.error or result.items for result in results})
