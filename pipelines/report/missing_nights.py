"""Notice that no night was good for too long: asked by whatever runs, since a dead schedule cannot tell of itself."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.notify import Alarm, channels_of, standing, update_alarms
from pipelines.record import NIGHT, runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.record import Run
    from pipelines.settings import Settings

NO_GOOD_NIGHT = "no_good_night"


def notice_missing_nights(settings: Settings, now: dt.datetime | None = None) -> list[str]:
    """Send an alarm if no night was good for too long, or that one was since; return what could not be sent."""
    now = now or utc_now()
    alarms = list(no_good_night(settings, now))
    if not alarms and all(alarm.cause != NO_GOOD_NIGHT for alarm in standing(settings.data_dir)):
        return []
    looked_at = {NO_GOOD_NIGHT}
    return list(update_alarms(settings.data_dir, alarms, channels_of(settings), looked_at=looked_at, now=now))


def no_good_night(settings: Settings, now: dt.datetime, *ended: Run) -> Iterator[Alarm]:
    """Yield an alarm if nights were begun, and none of them was good for [notify] max_age_hours.

    `ended` is a run whose record may not be written yet.
    """
    hours = settings.notify.max_age_hours
    nights = [run for run in [*runs(settings.data_dir), *ended] if run.kind == NIGHT]
    good = [run.ended_at for run in nights if run.verdict == "good" and run.ended_at]
    since = max(good) if good else min((run.started_at for run in nights), default=now)
    if hours and now - since > dt.timedelta(hours=hours):
        last = f"since {since:%Y-%m-%d %H:%M} UTC" if good else "yet"
        text = f"No night was good {last}; [notify] max_age_hours is {hours:g}. Is the schedule on?"
        yield Alarm(NO_GOOD_NIGHT, text)
