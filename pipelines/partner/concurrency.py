"""How many requests may be under way at once: more by ones while all is well, fewer at once when not.

Additive increase, multiplicative decrease (Chiu and Jain, 1989), with a memory: where it was too
much the last time, it stays just below for a while before it looks again, so that a steady service
refuses next to nothing. Knows nothing of HTTP: it is told what went well and what was too much.
"""

from __future__ import annotations

import asyncio
from collections import deque

FIRST = 8
KEEP = 0.7  # of the limit, after it was too much
PATIENCE = 150  # requests that must go well just below the known ceiling before looking above it
LEAST_SHARE = 8  # the limit stays at this part of the most: faults that do not ease are not our load


class Pace:
    """Lets at most `limit` requests be under way, and moves the limit between an eighth of `most` and `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = max(1, most // LEAST_SHARE)
        self.limit = min(FIRST, most)
        self._ceiling: int | None = None  # the limit that was too much
        self._step = 0
        self._went_well = 0
        self._decreases = 0
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> int:
        """Wait for a turn; return the ticket that `too_much` wants."""
        if self._under_way < self.limit and not self._waiting:
            self._under_way += 1
            return self._decreases
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the turn came in the same moment: it is the next one's
            raise
        return self._decreases

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def record_success(self) -> None:
        """Note, before leaving, that a request went well; a limit that is not reached proves nothing."""
        if self._under_way < self.limit or self.limit == self._most:
            return
        self._went_well += 1
        if self._ceiling is not None and self.limit == self._ceiling - 1:
            if self._went_well < PATIENCE:
                return
        elif self._went_well < self.limit:  # about once around
            return
        self._went_well = 0
        if self._ceiling is not None and self.limit < self._ceiling:
            self.limit += 1
        else:
            # Above all that is known: each clean round goes further than the last.
            self._ceiling = None
            self._step += 1
            self.limit = min(self.limit + self._step, self._most)
        self._admit()

    def too_much(self, ticket: int) -> None:
        """Note that a request with `ticket` was too much; those sent before the last decrease say nothing new."""
        if ticket < self._decreases:
            return
        self._decreases += 1
        self._ceiling = self.limit
        self.limit = max(self._least, int(self.limit * KEEP))
        self._step = self._went_well = 0

    def _leave(self) -> None:
        self._under_way -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._under_way < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
