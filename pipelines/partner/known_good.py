"""The urls that were answered last: one of them is requested to tell a failing url from a service that fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.partner.answers import Answer, RequestError
from pipelines.partner.errors import ServiceDown
from pipelines.partner.retry import LONGEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pipelines.partner.breaker import Breaker
    from pipelines.partner.clock import Clock
    from pipelines.partner.token import Token, Tokens

    Ask = Callable[[str, str, Token, int], Awaitable[Answer | RequestError]]

_UNAUTHORIZED = 401
_ALONE = 3  # urls rejected alone, from which on a rejection renews no token before another url was tried
_CHANCES = 8  # of a url to be answered, where the service limits its rate: it may answer most requests


class KnownGood:
    """By group of requests that are alike, the url that was answered last; `ask` sends one request and counts it."""

    def __init__(self, ask: Ask, tokens: Tokens, breaker: Breaker, clock: Clock) -> None:
        self.urls: dict[str, str] = {}
        self._ask, self._tokens, self._breaker, self._clock = ask, tokens, breaker, clock
        self._alone = 0
        self._asking = asyncio.Lock()

    async def is_refused_alone(self, token: Token, rejected_at: float | None, url: str, limit: int) -> bool:
        """Tell whether another url is answered with the token that was rejected for `url`; False if it may be too old.

        That is asked before a rejection would end the run, and of each one once a few were of their url alone.
        """
        others = [each for each in self.urls.items() if each[1] != url]
        if not others or (self._alone < _ALONE and not self._tokens.is_renewed(token, rejected_at)):
            return False
        sent = await self._ask(*others[-1], token, limit)
        if isinstance(sent, RequestError) or sent.status == _UNAUTHORIZED:
            return False
        self._tokens.accepted(token)
        self._alone += rejected_at is not None
        return True

    async def give_up_unless_answered(self, group: str, url: str, error: RequestError, limit: int) -> None:
        """Raise ServiceDown unless another url was or is answered: `url` must wait longer than the service has left."""
        known = self.urls.get(group, url)
        async with self._asking:
            for chance in range(_CHANCES):
                if self._breaker.has_answered_lately:
                    return
                if known == url:
                    break
                await self._clock.sleep(LONGEST_SECONDS * self._clock.random() if chance else 0.0)
                sent = await self._ask(group, known, await self._tokens.current(), limit)
                if isinstance(sent, Answer) or not sent.is_service_fault:
                    return
                if not sent.is_limit:
                    break
        raise ServiceDown(
            "no request was answered lately, and [partner] outage_timeout_seconds are over before the next one may be "
            f"sent: {error.reason} ({error.code})"
        )
