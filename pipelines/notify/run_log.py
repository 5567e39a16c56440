"""Remember the last run and the last good night, beside the alarms: `data/notify/last_run.json`, written by rename.

A good run published a release, or had nothing to publish. A run for webhooks is no night: it does not request
everything. Knows nothing of what a run does.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.notify.files import read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class LastRun:
    """The last run: when it ended, whether it was good and what it said; and when the last good night ended.

    A run that is neither good nor failed left something out.
    """

    ended_at: dt.datetime
    is_good: bool
    sentence: str
    good_at: dt.datetime | None
    has_failed: bool = False

    @property
    def outcome(self) -> str:
        """How it ended, in a word."""
        return "good" if self.is_good else "failed" if self.has_failed else "incomplete"

    def is_stale(self, now: dt.datetime, max_age_hours: float) -> bool:
        """Return whether the last good night ended longer ago than that, or there was none."""
        return self.good_at is None or now - self.good_at > dt.timedelta(hours=max_age_hours)


def last_run(data_dir: Path) -> LastRun | None:
    """Return the last run, None before the first or when the file cannot be read."""
    return read_json(_file(data_dir), LastRun)


def record_run(
    data_dir: Path,
    sentence: str,
    *,
    is_good: bool,
    has_failed: bool = False,
    is_nightly: bool = True,
    now: dt.datetime | None = None,
) -> LastRun:
    """Record that a run ended."""
    now = now or utc_now()
    before = last_run(data_dir)
    good_at = now if is_good and is_nightly else before.good_at if before else None
    run = LastRun(now, is_good, sentence, good_at, has_failed)
    write_json(_file(data_dir), run)
    return run


def _file(data_dir: Path) -> Path:
    return data_dir / "notify" / "last_run.json"
