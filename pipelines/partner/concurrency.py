"""Limit how many requests are in flight: additive increase, multiplicative decrease (Chiu and Jain, 1989).

It remembers the last limit that was too high and stays just below it for a while before trying more, so that a service
of constant capacity rejects next to nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque

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
