"""How long to wait before trying again, and how often a run may.

Knows nothing of HTTP beyond the text of a Retry-After header.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 5.0


def full_jitter(tries: int, chance: float, longest: float = LONGEST_SECONDS) -> float:
    """Return the seconds to wait after `tries` failed tries; `chance` is in [0, 1).

    Full jitter (M. Brooker, "Exponential Backoff And Jitter", 2015): anything between nothing
    and a ceiling that doubles up to `longest`, so that clients that failed together do not come back together.
    """
    ceiling = min(longest, FIRST_SECONDS * 2.0 ** min(tries - 1, 30))
    return ceiling * chance


def seconds_to_wait(retry_after: str | None, now: datetime) -> float | None:
    """Return what a Retry-After header asks for, in seconds from `now`; None where it says nothing.

    Both forms of RFC 9110 section 10.2.3: seconds, and an HTTP date. A date gone by is 0.
    """
    text = (retry_after or "").strip()
    if not text:
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
    """How many retries a run may still send: a share of its first tries, and a few to begin with.

    Bounds what a failing service is asked: at most `share` times its ids more, and `start`.
    """

    def __init__(self, share: float = 0.5, start: float = 100.0) -> None:
        self._share = share
        self._left = start

    def first_try(self) -> None:
        """Count the first try of an id."""
        self._left += self._share

    def take(self) -> bool:
        """Take one retry out of the budget; say whether there was one."""
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
