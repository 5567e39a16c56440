"""Keep loads in order although the clock was set back: nothing gets a time before that of an earlier load.

Load ids are times, and the observations of an id are ordered by time.
"""

from __future__ import annotations

import datetime as dt
import secrets
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.landing.raw_files import raw_files
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Now = Callable[[], dt.datetime]

_FORMAT = "%Y%m%dT%H%M%S%f"
_STEP = dt.timedelta(microseconds=1)


def now_in_utc() -> dt.datetime:
    """Return the time of the machine."""
    return utc_now()


class Clock:
    """The clock of a load: that of the machine, unless it is behind what was landed before."""

    def __init__(self, now: dt.datetime, last_live: dt.datetime | None, last_load_id: str) -> None:
        self._last_live = last_live
        last_load = time_of_load(last_load_id)
        self.started_at = max(filter(None, (now, last_live, last_load and last_load + _STEP)))

    def in_order(self, at: dt.datetime) -> dt.datetime:
        """Return a time at which the service answered; that of the last answer before it, where the clock is behind."""
        return at if self._last_live is None else max(at, self._last_live)


def load_id_at(started_at: dt.datetime) -> str:
    """Return a new id of a load that started then: ids are ordered by time."""
    return f"{started_at:{_FORMAT}}-{secrets.token_hex(3)}"


def time_of_load(load_id: str) -> dt.datetime | None:
    """Return when a load started, by its id; None where the id says none."""
    try:
        return dt.datetime.strptime(load_id.partition("-")[0], _FORMAT).replace(tzinfo=dt.UTC)
    except ValueError:
        return None


def clock_set_back(data_dir: Path, now: dt.datetime | None = None) -> str:
    """Return a sentence where the clock is behind the last load; else ""."""
    now = now or utc_now()
    loads = (raw_files(data_dir, kind).load_ids[-1:] for kind in KINDS)
    last = max((at for ids in loads for load_id in ids if (at := time_of_load(load_id))), default=now)
    if last <= now:
        return ""
    return (
        f"The clock is at {now:%Y-%m-%d %H:%M} UTC, before the last load at {last:%Y-%m-%d %H:%M} UTC: set it right if "
        "it is behind. If it was ahead then, nothing is to be done: until then loads are ordered after the last one."
    )
