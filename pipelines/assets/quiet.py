"""Recognize a run for webhooks that has nothing to do, without Dagster: its import and records are most of the cost.

The caller has repaired the data folder and holds the run lock. Such a run has its line in the run log, its exit code
and its morning page like any other; Dagster shows one only if it has shown none for long. Knows nothing of Dagster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import resumed_since
from pipelines.notify.run_log import last_run
from pipelines.report.summary import Night, current_release
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.build.found import stored_results
from pipelines.warehouse.release.need import deferred_until
from pipelines.warehouse.release.pending import is_anything_pending

if TYPE_CHECKING:
    from pipelines.settings import Settings

_SHOWN_EVERY = 0.5  # of [notify] max_age_hours: Dagster's freshness policy counts its own runs


def quiet_night(settings: Settings) -> Night | None:
    """Return the result of a run that has nothing to do; None if anything is due, waits, or is in doubt."""
    if not _went_well_before(settings) or _is_anything_due(settings) or is_anything_pending(settings):
        return None
    release = current_release(settings)
    checks = stored_results(settings)
    return Night(
        published=True,
        run_id="",
        is_new=False,
        landed={kind: {} for kind in KINDS},
        checks=len(checks),
        failing=tuple((each.table, each.name, each.violations) for each in checks if each.violations),
        said=(f"No release was published: nothing changed since {release.name if release else ''}.",),
    )


def _is_anything_due(settings: Settings) -> bool:
    if any((settings.data_dir / "vault" / f"spool-{kind}").exists() for kind in KINDS):
        return True  # answers that a killed run received
    publication = deferred_until(settings.data_dir / "published")
    if publication is not None and publication <= utc_now():
        return True
    with WorkList(inbox_path(settings.data_dir)) as work:
        return any(work.due(kind, limit=1) for kind in KINDS)


def _went_well_before(settings: Settings) -> bool:
    """Tell whether the last run was good, this one resumes none, and Dagster has shown one not long ago."""
    before = last_run(settings.data_dir)
    if before is None or not before.is_good or resumed_since(settings.data_dir) is not None:
        return False
    runs = (settings.data_dir / "dagster" / "history" / "runs").glob("*-*.db")
    shown = max((each.stat().st_mtime for each in runs), default=0.0)
    hours = settings.notify.max_age_hours * _SHOWN_EVERY
    return shown > 0 and (hours <= 0 or utc_now().timestamp() - shown < hours * 3600)
