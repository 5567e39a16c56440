"""How many requests may be under way at once; grows slowly, shrinks at once.

Knows nothing of HTTP: it is told what went well and what was too much.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Pace:
    """Lets at most `most` requests be under way."""

    def __init__(self, most: int) -> None:
        self.limit = float(most)
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._under_way < int(self.limit) and not self._waiting:
            self._under_way += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the turn came in the same moment: it is the next one's
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self._under_way -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._under_way < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
