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
# Being told to slow down is failure only when nothing gets through for so long.
HARDENS_SECONDS = 2.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 20.0


class Breaker:
    """Says who may ask, and when asking is over."""

    def __init__(self, clock: Clock, patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._since: float | None = None  # when the first request of the failing streak was sent
        self._failures = self._refusals = 0
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
                await self._clock.sleep(self._probe_at - self._clock.monotonic())
            else:
                self._probing = True
                return True

    def seconds_left(self) -> float:
        """Return how long the failing service still has before it is given up."""
        if self._since is None:
            return self._patience
        return self._since + self._patience - self._clock.monotonic()

    def worked(self) -> None:
        """Note that the service answered."""
        if self._open:
            log.warning("the partner service answers again")
        self._since = None
        self._failures = self._refusals = 0
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
        refusal: bool = False,
        wait: float = 0.0,
    ) -> None:
        """Note that the request for `subject`, sent at `began`, failed because of `why`.

        `refusal`: the service lives and asks for fewer requests; `wait` is how long it said.
        """
        now = self._clock.monotonic()
        self._since = began if self._since is None else min(self._since, began)
        self._failures += 1
        self._refusals += refusal
        self._subjects.add(subject)
        if probe:
            self._pause = min(self._pause * 2.0, LONGEST_PAUSE_SECONDS)
            self._rest(now, max(self._pause, wait), why)
        elif not self._open and self._sustained(now):
            log.warning("the partner service keeps failing: %s; asking stops until a probe gets through", why)
            self._open = True
            self._rest(now, max(self._pause, wait), why)

    def _sustained(self, now: float) -> bool:
        if len(self._subjects) < SUBJECTS or self._since is None:
            return False
        if self._failures - self._refusals >= FAILURES:
            return True
        return self._failures >= FAILURES and now - self._since >= HARDENS_SECONDS

    def _rest(self, now: float, pause: float, why: str) -> None:
        self._probe_at = now + pause
        if self._since is not None and self._probe_at >= self._since + self._patience:
            self._given_up = (
                f"the service has failed for {now - self._since:.0f} s and {self._failures} requests: {why}; "
                "what was landed stays, the next run takes up the rest"
            )
        self._tell()

    def _tell(self) -> None:
        self._probing = False
        self._changed.set()
        self._changed = asyncio.Event()
