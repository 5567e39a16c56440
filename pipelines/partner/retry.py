"""Backoff between attempts, and the retry budget of a run."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 5.0
_LONGEST_HEADER = 100  # characters; an HTTP date has 29


def full_jitter(attempts: int, chance: float, longest: float = LONGEST_SECONDS) -> float:
    """Return the seconds to wait after `attempts` failed attempts; `chance` is a random number in [0, 1).

    Full jitter (M. Brooker, "Exponential Backoff And Jitter", 2015): anything from zero to a ceiling that doubles up to
    `longest`, so that clients that failed together do not retry together.
    """
    ceiling = min(longest, FIRST_SECONDS * 2.0 ** min(attempts - 1, 30))
    return ceiling * chance


def seconds_to_wait(retry_after: str | None, now: datetime) -> float | None:
    """Return the wait that a Retry-After header requests, in seconds from `now`; None if it is absent or invalid.

    Both forms of RFC 9110 section 10.2.3: seconds, and an HTTP date. A past date is 0.
    """
    text = (retry_after or "").strip()
    if not text or len(text) > _LONGEST_HEADER:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return max(0.0, (when - now).total_seconds())
    return max(0.0, seconds) if math.isfinite(seconds) else None


class RetryBudget:
    """The retries that a run may still send: `start`, and `share` for each first attempt.

    Bounds the extra load on a failing service.
    """

    def __init__(self, share: float = 0.5, start: float = 100.0) -> None:
        self._share = share
        self._left = start

    def first_attempt(self) -> None:
        """Count the first attempt for an id."""
        self._left += self._share

    def take(self) -> bool:
        """Take one retry from the budget; return whether there was one."""
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
