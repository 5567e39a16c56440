"""When a request is sent: time and randomness as values, backoff, the retry budget of a run, and requests in flight.

The limit follows additive increase, multiplicative decrease (Chiu and Jain, 1989). It remembers the last limit that was
too high and stays just below it for a while before trying more, so that a service of constant capacity rejects next to
nothing.
"""

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pipelines.clock import utc_now


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, sleep and random numbers: `monotonic` in seconds, `now` aware and in UTC, `random` in [0, 1)."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = utc_now
    random: Callable[[], float] = random.SystemRandom().random


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
    """The retries that a run may still send, to bound the load: `start`, and `share` for each first attempt."""

    def __init__(self, share: float = 0.5, start: float = 100.0) -> None:
        self._share, self._left = share, start

    def first_attempt(self) -> None:
        """Count the first attempt for an id."""
        self._left += self._share

    def take(self) -> bool:
        """Take one retry from the budget; return whether there was one."""
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


FIRST = 8
KEEP = 0.7  # of the limit, after it was too high
PATIENCE = 150  # successes just below the known ceiling before trying more
LEAST_SHARE = 8  # the limit never falls below this part of the maximum: constant faults are not caused by our load


class ConcurrencyLimit:
    """Keeps at most `limit` requests in flight, and adjusts the limit between an eighth of `most` and `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = max(1, most // LEAST_SHARE)
        self.limit = min(FIRST, most)
        self._ceiling: int | None = None  # the limit that was too high
        self._step = 0
        self._successes = 0
        self._decreases = 0
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> int:
        """Wait for a turn; return the ticket for `record_overload`."""
        if self._under_way < self.limit and not self._waiting:
            self._under_way += 1
            return self._decreases
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the turn was granted at the same time: pass it on
            raise
        return self._decreases

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def record_success(self) -> None:
        """Record a success, before leaving; it counts only while the limit is reached."""
        if self._under_way < self.limit or self.limit == self._most:
            return
        self._successes += 1
        if self._ceiling is not None and self.limit == self._ceiling - 1:
            if self._successes < PATIENCE:
                return
        elif self._successes < self.limit:  # about one round
            return
        self._successes = 0
        if self._ceiling is not None and self.limit < self._ceiling:
            self.limit += 1
        else:
            # Above every known limit: the step grows with each round.
            self._ceiling = None
            self._step += 1
            self.limit = min(self.limit + self._step, self._most)
        self._admit()

    def record_overload(self, ticket: int) -> None:
        """Record that a request with `ticket` met an overload; one sent before the last decrease does not count."""
        if ticket < self._decreases:
            return
        self._decreases += 1
        self._ceiling = self.limit
        self.limit = max(self._least, int(self.limit * KEEP))
        self._step = self._successes = 0

    def _leave(self) -> None:
        self._under_way -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._under_way < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
