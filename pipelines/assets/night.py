"""Execute the nightly job in this process and return its result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pipelines.assets.home import instance_of_command
from pipelines.assets.raw import REPORT
from pipelines.assets.shortfalls import INCOMPLETE, OUTAGE, shortfalls
from pipelines.assets.storage_engines import kept_connections
from pipelines.assets.warehouse import failing_checks
from pipelines.ingest.lock import RUN, run_lock
from pipelines.ingest.stop import current_stop
from pipelines.report.summary import Night, current_release
from pipelines.warehouse.release.need import HINT, NIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import dagster as dg

    from pipelines.settings import Settings

# Errors of this project are sentences; a reader does not need their class.
SERVICE_DOWN = "ServiceDown"  # the class of partner/errors.py
_CLASS = re.compile(r"^pipelines\.[\w.]+: ")


def run_night(
    settings: Settings,
    job: dg.JobDefinition,
    *,
    order_ids: Path | None = None,
    order_id_range: str = "",
    menu_ids: Path | None = None,
    is_small: bool = False,
    is_repaired: bool = False,
) -> Night:
    """Execute the job on the instance below the data folder and return its result.

    `is_small`: as a run for webhooks, without the list of stores and without a plan. `is_repaired`: the caller has
    repaired the data folder under the lock. Raise RunLockedError at once if another run holds the lock. A failed job
    raises nothing: the result has its errors.
    Raise KeyboardInterrupt if a signal ended the job, which Dagster then has as cancelled.
    """
    with run_lock(settings.data_dir, RUN):
        before = current_release(settings)
        ops: dict[str, Any] = {
            "raw__menus": {"config": {"menu_ids": str(menu_ids.resolve()) if menu_ids else ""}},
            "raw__orders": {
                "config": {
                    "order_ids": str(order_ids.resolve()) if order_ids else "",
                    "order_id_range": order_id_range,
                    "plans": not is_small,
                }
            },
            "raw__stores": {"config": {"lists": not is_small, "repairs": not is_repaired}},
            "warehouse": {"config": {"run": HINT if is_small else NIGHT}},
        }
        with kept_connections(), instance_of_command(settings.data_dir) as instance:
            result = job.execute_in_process(
                instance=instance,
                raise_on_error=False,
                run_config={
                    "ops": ops,
                    # Dagster's own records keep the full log; the terminal gets the summary.
                    "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
                },
            )
        if current_stop().signal and not result.success:
            raise KeyboardInterrupt
        after = current_release(settings)
    missing = shortfalls(event.materialization for event in result.get_asset_materialization_events())
    checks, failing = _checks(result)
    return Night(
        published=result.success,
        run_id=result.run_id,
        is_new=after != before,
        landed=landed(event.materialization for event in result.get_asset_materialization_events()),
        errors=tuple(_errors(result)),
        own_errors=own_errors(result.all_events),
        failing=failing,
        checks=checks,
        undone=tuple(_failed_tasks(result)),
        said=tuple(_reports(result)),
        is_outage=is_outage(result.all_events) or missing.is_outage,
        incomplete=missing.sentences,
    )


def is_outage(events: Iterable[dg.DagsterEvent]) -> bool:
    """Return whether a step failed because the service was down."""
    failures = (event.step_failure_data.error for event in events if event.is_step_failure)
    return any(SERVICE_DOWN in (error.cls_name, error.cause and error.cause.cls_name) for error in failures if error)


def landed(materializations: Iterable[dg.AssetMaterialization]) -> dict[str, dict[str, int]]:
    """Return kind → verdict → count of what a run's assets note as landed."""
    landed: dict[str, dict[str, int]] = {}
    for materialization in materializations:
        key = materialization.asset_key
        if key.path[0] == "raw":
            metadata = materialization.metadata
            landed[key.path[1]] = {
                name: _number(value)
                for name, value in metadata.items()
                if not name.startswith("dagster/") and name not in (REPORT, INCOMPLETE, OUTAGE)
            }
    return landed


def _checks(result: dg.ExecuteInProcessResult) -> tuple[int, tuple[tuple[str, str, int], ...]]:
    """Return how many checks ran and which failed, as the step that built the tables says."""
    for event in result.all_events:
        if event.step_key == "warehouse" and event.is_step_failure and event.step_failure_data.user_failure_data:
            return failing_checks(dict(event.step_failure_data.user_failure_data.metadata))
    for event in result.get_asset_materialization_events():
        if event.asset_key is not None and event.asset_key.path == ["warehouse"]:
            return failing_checks(dict(event.materialization.metadata))
    return 0, ()


def _failed_tasks(result: dg.ExecuteInProcessResult) -> Iterator[str]:
    for event in result.get_asset_materialization_events():
        if event.asset_key is not None and event.asset_key.path == ["maintenance"]:
            for task, value in event.materialization.metadata.items():
                if isinstance(value.value, str):
                    yield f"{task}: {value.value}"


def _reports(result: dg.ExecuteInProcessResult) -> Iterator[str]:
    for event in result.get_asset_materialization_events():
        if REPORT in event.materialization.metadata:
            yield from str(event.materialization.metadata[REPORT].value).splitlines()


def _number(value: Any) -> int:
    return int(value.value)


def _errors(result: dg.ExecuteInProcessResult) -> list[str]:
    return [f"{step}: {message}" for step, message, _ in _failures(result.all_events)]


def own_errors(events: Iterable[dg.DagsterEvent]) -> tuple[str, ...]:
    """Return the errors of a run for its page: sentences of this project; not those of a library.

    A library may quote a value of a document in its message; this project never does.
    """
    return tuple(f"{step}: {message if own else 'failed, see the log'}" for step, message, own in _failures(events))


def _failures(events: Iterable[dg.DagsterEvent]) -> Iterator[tuple[str, str, bool]]:
    """Yield the step, the message, and whether this project wrote it, of failures: of steps, or else of the run."""
    found = list(events)
    of_run = [event for event in found if event.is_job_failure and event.job_failure_data.error]
    for event in [event for event in found if event.is_step_failure] or of_run:
        data: Any = event.step_failure_data if event.is_step_failure else event.job_failure_data
        shown = data.user_failure_data if event.is_step_failure else None
        message = shown.description if shown else None
        is_own = bool(message)
        if not message and data.error is not None:
            cause = data.error.cause or data.error
            is_own = bool(_CLASS.match(cause.message.strip()))
            message = _CLASS.sub("", cause.message.strip())
        step = event.step_key or "the job"
        yield step.replace("__", "/"), message or "failed", is_own
