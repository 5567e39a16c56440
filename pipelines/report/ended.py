"""Tell of a run that ended, however it ended: record it, send alarms, write the morning page.

Knows nothing of Dagster, whose sensors do so for the runs of its schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.notify.history import ended_run
from pipelines.report.night_alarms import after_run
from pipelines.report.page.morning import write_morning_page
from pipelines.report.summary import Night
from pipelines.report.text import sentence_of

if TYPE_CHECKING:
    import datetime as dt

    from pipelines.settings import Settings


def tell(settings: Settings, night: Night, started: dt.datetime, *, is_nightly: bool) -> tuple[list[str], str]:
    """Return what could not be sent or recorded, and why the page could not be written, "" if it was."""
    failures = after_run(
        settings,
        succeeded=night.published,
        is_new=night.is_new,
        is_outage=night.is_outage,
        incomplete=night.incomplete,
        errors=night.own_errors,
        is_nightly=is_nightly,
    )
    facts = ended_run(
        started,
        utc_now(),
        is_good=night.published and not night.incomplete,
        is_nightly=is_nightly,
        is_new=night.is_new,
        landed=night.landed,
        errors=night.own_errors,
    )
    return failures, write_morning_page(settings, facts)


def ended_by(error: Exception) -> Night:
    """Return a run that an error ended outside its job; what a library says is not for alarms and pages."""
    sentence = sentence_of(error)
    return Night(
        published=False,
        run_id="",
        is_new=False,
        errors=(sentence or f"{type(error).__name__}: {error}",),
        own_errors=(sentence or f"{type(error).__name__}, see the log",),
    )
