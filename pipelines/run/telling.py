"""Tell of a run that ended, however it ended: alarms, heartbeat and morning page, once.

The next run that holds the run lock, or a look while nobody does, tells of a run that was killed or stopped, or
was killed while it told.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from pipelines.ingest.lock import RunLockedError, lock_holder, run_lock
from pipelines.notify import notice_missing_nights
from pipelines.record import current_release, mark_if_killed, runs, save

if TYPE_CHECKING:
    from pipelines.record import Run
    from pipelines.settings import Settings

_EVERY_SECONDS = 900.0


class Told(NamedTuple):
    """What could not be sent or recorded, and why the page could not be written: "" if it was."""

    failures: tuple[str, ...] = ()
    unwritten: str = ""


def tell(settings: Settings, run: Run) -> Told:
    """Record the run, send what changed about alarms, call the heartbeat after a good night, write the page."""
    from pipelines.report.night_alarms import after_run  # noqa: PLC0415 -- slow: a status only looks for dead runs
    from pipelines.report.page.morning import write_morning_page  # noqa: PLC0415 -- the same

    failures = after_run(settings, run)
    unwritten = write_morning_page(settings, run)
    run.is_told = True
    try:
        save(settings.data_dir, run)
    except OSError as error:
        failures.append(f"The record of the run could not be written: {error.strerror}.")
    return Told(tuple(failures), unwritten)


def tell_of_dead_runs(settings: Settings) -> list[Run]:
    """Tell of each run that ended without telling, and return all runs; the caller holds the run lock."""
    found = runs(settings.data_dir)
    for run in found:
        if not run.is_told:
            if run.ended_at is None:
                release = current_release(settings.data_dir / "published")
                run.release = release.name if release else ""
                mark_if_killed(run)
            tell(settings, run)
    return found


def look_for_dead_runs(settings: Settings) -> None:
    """Tell of each run that ended without telling, and of nights that are missing, unless a run is under way."""
    if lock_holder(settings.data_dir):
        return
    with suppress(OSError):
        notice_missing_nights(settings)
    if all(run.is_told for run in runs(settings.data_dir)):
        return
    with suppress(RunLockedError, OSError), run_lock(settings.data_dir, "a look for dead runs"):
        tell_of_dead_runs(settings)


def keep_looking(settings: Settings) -> None:
    """Look for dead runs and missing nights every quarter of an hour, in a thread that ends with the process."""

    def look() -> None:
        while True:
            time.sleep(_EVERY_SECONDS)
            look_for_dead_runs(settings)

    threading.Thread(target=look, name="looking for dead runs", daemon=True).start()
