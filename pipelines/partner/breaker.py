"""Stop asking a service that fails, look now and then whether it is back, give up in the end.

    closed ──sustained failure──► open ──time──► half open: one probe ──it works──► closed
                                   ▲                    └──it fails──► open, for longer
                                   └── until the service has failed for `patience` seconds: given up

Knows nothing of HTTP: it is told what was asked, when, and how it ended.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from pipelines.partner.errors import ServiceDown

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pipelines.partner.clock import Clock

log = logging.getLogger(__name__)

# Sustained: so many failures without one success between, of so many different things asked.
FAILURES = 10
SUBJECTS = 3
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 20.0
_TICK = 0.001  # seconds: less is no waiting
# What an outage is asked in all. Where many were under way when it began, few probes are left: those lie further apart.
MOST_REQUESTS, LEAST_PROBES, FURTHEST_APART_SECONDS = 35, 2, 60.0


class Breaker:
    """Says who may ask, and when asking is over."""

    def __init__(self, clock: Clock, patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._since: float | None = None  # when the first request of the failing streak was sent
        self._failures = self._doubtful = self._probes = 0
        self._under_way = 0
        self._subjects: set[Hashable] = set()
        self._open = self._probing = False
        self._pause = FIRST_PAUSE_SECONDS
        self._probe_at = 0.0
        self._given_up: str | None = None
        self._changed = asyncio.Event()

    async def admit(self) -> bool:
        """Wait until asking is allowed; True makes the caller the one probe, who must say how it went.

        Raise ServiceDown once the service is given up.
        """
        while True:
            if self._given_up is not None:
                raise ServiceDown(self._given_up)
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
        """Note that a request is sent; return when."""
        self._under_way += 1
        return self._clock.monotonic()

    def ended(self) -> None:
        """Note that a request is no longer under way, before how it went."""
        self._under_way -= 1

    def seconds_left(self) -> float:
        """Return how long the failing service still has before it is given up."""
        if self._since is None:
            return self._patience
        return self._since + self._patience - self._clock.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether asking has stopped until a probe gets through."""
        return self._open

    def would_exceed_deadline(self, pause: float) -> bool:
        """Say whether a service asked for too few things to call it failing has no time left after `pause`."""
        return not self._open and self._since is not None and pause >= self.seconds_left()

    def worked(self, began: float) -> None:
        """Note that the service answered a request sent at `began`.

        What was sent before the failing began says nothing: a service that goes away may first finish what it has.
        """
        if self._since is not None and began < self._since:
            return
        if self._open:
            log.warning("the partner service answers again")
        self._since = None
        self._failures = self._doubtful = self._probes = 0
        self._subjects.clear()
        self._open = False
        self._pause = FIRST_PAUSE_SECONDS
        self._tell()

    def abandoned(self) -> None:
        """Note that the probe ended without a word; the next who asks is the probe."""
        self._tell()

    def failed(
        self,
        subject: Hashable,
        began: float,
        why: str,
        *,
        probe: bool = False,
        doubtful: bool = False,
        wait: float = 0.0,
    ) -> None:
        """Note that the request for `subject`, sent at `began`, failed because of `why`.

        `doubtful`: it may be the subject's own fault, and counts only beside others that are not; `wait` is how long
        the service said to wait.
        """
        now = self._clock.monotonic()
        self._since = began if self._since is None else min(self._since, began)
        self._failures += 1
        self._doubtful += doubtful
        self._subjects.add(subject)
        if self._open:
            if probe:
                self._probes += 1
                self._pause = min(self._pause * 2.0, LONGEST_PAUSE_SECONDS)
                self._rest(now, wait, why)
        elif self._sustained():
            log.warning("the partner service keeps failing: %s; asking stops until a probe gets through", why)
            self._open = True
            self._rest(now, wait, why)

    def _sustained(self) -> bool:
        if len(self._subjects) < SUBJECTS or self._failures == self._doubtful:
            return False
        return self._failures >= FAILURES or self.seconds_left() <= 0.0

    def _rest(self, now: float, wait: float, why: str) -> None:
        left = self.seconds_left()
        pause = max(self._pause, wait, self._spread(left))
        self._probe_at = now + pause
        if pause >= left:
            self._given_up = (
                f"the service has failed for {self._patience - left:.0f} s and {self._failures} requests: {why}; "
                "what was landed stays, the next run takes up the rest"
            )
        self._tell()

    def _spread(self, left: float) -> float:
        """Return the pause with which the probes that may still be sent last for the time left; 0: they will do."""
        if not self._probes:
            return 0.0  # the first one is worth it: most outages are short
        others = self._failures - self._probes + self._under_way
        probes = max(0, max(LEAST_PROBES, MOST_REQUESTS - others) - self._probes)
        if probes >= _pauses(self._pause, left):
            return 0.0
        return min(left / (probes + 0.25), FURTHEST_APART_SECONDS)  # the last one falls near the end

    async def _until(self, when: float) -> None:
        """Wait until `when`, or until something changes."""
        waits = [
            asyncio.ensure_future(self._clock.sleep(max(_TICK, when - self._clock.monotonic()))),
            asyncio.ensure_future(self._changed.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _tell(self) -> None:
        self._probing = False
        self._changed.set()
        self._changed = asyncio.Event()


def _pauses(pause: float, left: float) -> int:
    """Return how many pauses, each twice the one before, end within the time left; no more than matter."""
    count = 0
    while pause < left and count < MOST_REQUESTS:
        left -= pause
        pause = min(pause * 2.0, LONGEST_PAUSE_SECONDS)
        count += 1
    return count
