"""What time it is: the one place that is asked by all that stores a time, or compares one with a stored one.

The clock is the machine's. Only the demo shifts it, so that its nights are at the time of the world that it plays.
"""

import datetime as dt
import json
from pathlib import Path

_AHEAD = "ahead_seconds"
_shift = dt.timedelta(0)


def utc_now() -> dt.datetime:
    """Return the time, aware and in UTC."""
    return machine_now() + _shift


def machine_now() -> dt.datetime:
    """Return the time of the machine's clock, whatever the demo plays."""
    return dt.datetime.now(dt.UTC)


def shift_clock(now: dt.datetime) -> float:
    """Let it be `now` in this process; return how many seconds that is ahead of the machine's clock."""
    global _shift  # noqa: PLW0603 - one clock for a process is what this module is for
    _shift = now - dt.datetime.now(dt.UTC)
    return _shift.total_seconds()


def follow(file: Path) -> None:
    """Shift this process's clock as far as the demo left it in this file; leave it where there is none."""
    global _shift  # noqa: PLW0603
    try:
        ahead = json.loads(file.read_text(encoding="utf-8")).get(_AHEAD, 0.0)
    except FileNotFoundError:
        return
    _shift = dt.timedelta(seconds=ahead)
