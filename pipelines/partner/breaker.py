"""Circuit breaker: stop requests to a failing service, probe it now and then, give up in the end.

closed ──sustained failure──► open ──time──► half open: one probe ──success──► closed
                               ▲                    └──failure──► open, for longer
                               └── until the service has failed for `patience` seconds: given up
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING

from pipelines.partner.errors import ServiceDown

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pipelines.partner.clock import Clock

log = logging.getLogger(__name__)

# Sustained: so many failures without a success in between, for so many different subjects.
FAILURES = 10
SUBJECTS = 3
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 20.0
_TICK = 0.001  # seconds
# The requests of one outage. If many were in flight when it began, few probes are left: they are spaced further apart.
MOST_REQUESTS, LEAST_PROBES, FURTHEST_APART_SECONDS = 35, 2, 60.0


class Breaker:
    """Decides when requests may be sent, and when to give up."""

    def __init__(self, clock: Clock, patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._since: float | None = None  # when the first request of the failing streak was sent
        self._answered_at = -math.inf
        self._failures = self._doubtful = self._limits = self._probes = 0
        self._in_flight = 0
        self._subjects: set[Hashable] = set()
        self._open = self._probing = False
        self._pause = FIRST_PAUSE_SECONDS
        self._probe_at = 0.0
        self._gave_up: str | None = None
        self._changed = asyncio.Event()

    async def admit(self) -> bool:
        """Wait until a request may be sent; True makes it the one probe, whose result must be recorded.

        Raise ServiceDown once the breaker has given up.
        """
        while True:
            if self._gave_up is not None:
                raise ServiceDown(self._gave_up)
            if not self._open:
                return False
            if self._probing:
                await self._changed.wait()
            elif self._clock.monotonic() < self._probe_at:
                await self._until(self._probe_at)
            else:
                self._probing = True
                return True

    def sent(self) -> float:
        """Record that a request is sent; return when."""
        self._in_flight += 1
        return self._clock.monotonic()

    def ended(self) -> None:
        """Record that a request is no longer in flight, before its result."""
        self._in_flight -= 1

    def seconds_left(self) -> float:
        """Return the seconds until the breaker gives up on the failing service."""
        if self._since is None:
            return self._patience
        return self._since + self._patience - self._clock.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether requests are stopped until a probe succeeds."""
        return self._open

    @property
    def has_answered_lately(self) -> bool:
        """Whether the service answered anything within half of the time after which it is given up."""
        return self._clock.monotonic() - self._answered_at < self._patience / 2.0

    def would_exceed_deadline(self, pause: float) -> bool:
        """Return whether `pause` uses up the time left, with too few subjects to open the breaker."""
        return not self._open and self._since is not None and pause >= self.seconds_left()

    def record_success(self, began: float) -> None:
        """Record that the service answered a request sent at `began`.

        A request sent before the failures began does not count: a service going down may still finish those.
        """
        self._answered_at = self._clock.monotonic()
        if self._since is None or began < self._since:
            return
        if self._open:
            log.warning("the partner service answers again")
        self._since = None
        self._failures = self._doubtful = self._limits = self._probes = 0
        self._subjects.clear()
        self._open = False
        self._pause = FIRST_PAUSE_SECONDS
        self._notify()

    def abandoned(self) -> None:
        """Record that the probe ended without a result; the next request becomes the probe."""
        self._notify()

    def failed(
        self,
        subject: Hashable,
        began: float,
        why: str,
        *,
        probe: bool = False,
        doubtful: bool = False,
        is_limit: bool = False,
        wait: float = 0.0,
    ) -> None:
        """Record that the request for `subject`, sent at `began`, failed because of `why`.

        `doubtful`: the subject itself may be at fault, so it counts only together with others that are not. `is_limit`:
        the service limits its rate, and may answer as many requests as it refuses, so it counts half. `wait` is the
        wait that the service requested.
        """
        now = self._clock.monotonic()
        self._since = began if self._since is None else min(self._since, began)
        self._failures += 1
        self._doubtful += doubtful
        self._limits += is_limit
        self._subjects.add(subject)
        if self._open:
            if probe:
                self._probes += 1
                self._pause = min(self._pause * 2.0, LONGEST_PAUSE_SECONDS)
                self._rest(now, wait, why)
        elif self._sustained():
            log.warning("the partner service keeps failing: %s; requests stop until a probe succeeds", why)
            self._open = True
            self._rest(now, wait, why)

    def _sustained(self) -> bool:
        if len(self._subjects) < SUBJECTS or self._failures == self._doubtful:
            return False
        return self._failures - self._limits / 2 >= FAILURES or self.seconds_left() <= 0.0

    def _rest(self, now: float, wait: float, why: str) -> None:
        left = self.seconds_left()
        pause = max(self._pause, wait, self._spread(left))
        self._probe_at = now + pause
        if pause >= left:
            self._gave_up = (
                f"the service has failed for {self._patience - left:.0f} s and {self._failures} requests: {why}; "
                "landed documents are kept, the next run fetches the rest"
            )
        self._notify()

    def _spread(self, left: float) -> float:
        """Return the pause that spreads the remaining probes over the time left; 0 if there are enough."""
        if not self._probes:
            return 0.0  # the first probe is not delayed: most outages are short
        others = self._failures - self._probes + self._in_flight
        probes = max(0, max(LEAST_PROBES, MOST_REQUESTS - others) - self._probes)
        if probes >= _pauses(self._pause, left):
            return 0.0
        return min(left / (probes + 0.25), FURTHEST_APART_SECONDS)  # the last one is near the end

    async def _until(self, when: float) -> None:
        """Wait until `when`, or until the state changes."""
        waits = [
            asyncio.ensure_future(self._clock.sleep(max(_TICK, when - self._clock.monotonic()))),
            asyncio.ensure_future(self._changed.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _notify(self) -> None:
        self._probing = False
        self._changed.set()
        self._changed = asyncio.Event()


def _pauses(pause: float, left: float) -> int:
    """Return how many pauses, each twice the one before, fit into the time left, at most MOST_REQUESTS."""
    count = 0
    while pause < left and count < MOST_REQUESTS:
        left -= pause
        pause = min(pause * 2.0, LONGEST_PAUSE_SECONDS)
        count += 1
    return count
