"""The last asset of a night: its chores.

Dagster reads the annotations, so they are not put off to strings here.
"""

from typing import Any

import dagster as dg

from pipelines.assets.maintenance import do_chores


@dg.asset(
    key="chores",
    deps=["release"],
    group_name="release",
    required_resource_keys={"settings", "run_lock"},
    description="What is done after a night's release: old deliveries, finished entries and refused bodies go, the "
    "small files of past days become one a day. A chore that fails is said, and costs the night nothing.",
)
def chores(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
    """Do the chores, and say of each what became of it."""
    done = do_chores(context.resources.settings)
    for chore in done:
        (context.log.warning if chore.error else context.log.info)(chore.sentence())
    return dg.MaterializeResult(metadata={chore.what: chore.error or chore.number for chore in done})
