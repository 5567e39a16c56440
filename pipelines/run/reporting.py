"""Report a run exactly once: its record, alarms, heartbeat and page, also when the process that ran it died.

The next run that holds the run lock, or a look while nobody does, reports a run that was killed, or that was killed
while it reported. Commands that only look import this module, and not the steps of a run.
"""

import logging
import threading
import time
from contextlib import suppress
from typing import NamedTuple

from pipelines.ingest.lock import RunLockedError, lock_holder, run_lock
from pipelines.notify import notice_missing_nights
from pipelines.record import Run, current_release, mark_if_killed, runs, save
from pipelines.report.text import sentence_of
from pipelines.settings import Settings

_EVERY_SECONDS = 900.0
log = logging.getLogger(__name__)


class RunReport(NamedTuple):
    """What could not be sent or recorded, and why the page could not be written: "" if it was."""

    failures: tuple[str, ...] = ()
    unwritten: str = ""


def report_run(settings: Settings, run: Run) -> RunReport:
    """Record the run, send what changed about alarms, call the heartbeat after a good night, write the page."""
    from pipelines.report.night_alarms import after_run  # noqa: PLC0415 -- slow: a status only looks for dead runs
    from pipelines.report.page.morning import write_morning_page  # noqa: PLC0415 -- the same

    failures = after_run(settings, run, write_page=lambda: write_morning_page(settings, run))
    run.is_told = True
    try:
        save(settings.data_dir, run)
    except OSError as error:
        failures.append(f"The record of the run could not be written: {error.strerror}.")
    return RunReport(tuple(failures), run.unwritten)


def report_dead_runs(settings: Settings) -> list[Run]:
    """Tell of each run that ended without telling, and return all runs; the caller holds the run lock."""
    found = runs(settings.data_dir)
    for run in found:
        if not run.is_told:
            if run.ended_at is None:
                release = current_release(settings.data_dir / "published")
                run.release = release.name if release else ""
                mark_if_killed(run)
            report_run(settings, run)
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
        report_dead_runs(settings)


def keep_looking(settings: Settings, every: float = _EVERY_SECONDS) -> threading.Thread:
    """Look for dead runs and missing nights every quarter of an hour, in a thread that ends with the process."""

    def look() -> None:
        while True:
            time.sleep(every)
            try:
                look_for_dead_runs(settings)
            except Exception as error:  # noqa: BLE001 -- the next look may find more
                log.warning("looking for dead runs: %s", sentence_of(error) or type(error).__name__)

    thread = threading.Thread(target=look, name="looking for dead runs", daemon=True)
    thread.start()
    return thread
