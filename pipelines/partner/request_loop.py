"""Ask until there is an answer: token, pace, breaker, retries and their budget, in one loop.

Knows nothing of kinds of documents or of what an answer holds.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import httpx

from pipelines.partner.answers import Answer, Trouble, Try
from pipelines.partner.behaviour import Behaviour
from pipelines.partner.breaker import Breaker
from pipelines.partner.concurrency import Pace
from pipelines.partner.errors import AuthenticationFailed, ServiceDown
from pipelines.partner.exchange import ASK_FOR_JSON, Seen, exchange
from pipelines.partner.pages import Pages, Told
from pipelines.partner.retry import LONGEST_SECONDS, RetryBudget, full_jitter
from pipelines.partner.token import Tokens, authenticate_request

if TYPE_CHECKING:
    from pipelines.partner.clock import Clock
    from pipelines.partner.token import Token
    from pipelines.settings import Partner

log = logging.getLogger(__name__)

_TOKEN_BYTES = 1_048_576
_TOKEN_ANSWERS = (200, 201)
_UNAUTHORIZED = 401
_REFUSED = 3  # tries
_TOKEN_TRIES, _TOKEN_LONGEST_SECONDS = 30, 20.0
_LEAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Asked:
    """How a request ended, after how many tries, and how those before the last one ended."""

    outcome: Answer | Trouble
    tries: int
    earlier: tuple[Try, ...] = ()


class Asking:
    """What all requests of a run share: connections, token, pace, breaker, retry budget."""

    def __init__(
        self,
        partner: Partner,
        network: httpx.AsyncBaseTransport,
        clock: Clock,
        behaviour: Behaviour | None = None,
    ) -> None:
        self._behaviour = behaviour or Behaviour()
        self._partner = partner
        self._network = network
        self._clock = clock
        self._pace = Pace(partner.max_concurrency)
        self._budget = RetryBudget()
        self._breaker = Breaker(clock, partner.outage_timeout_seconds)
        self._tokens = Tokens(partner, clock, self._ask_for_token, self._behaviour)
        self._known_good: dict[str, str] = {}
        self._pages = Pages()

    async def ask(self, group: str, url: str, *, limit: int) -> Asked:
        """Return the answer for `url`, or the trouble left when trying again is of no use.

        What answered last in the same `group` shows, when all seems lost, whether it is the
        service that fails or only `url`. Raise RunStopped where nothing more can be asked.
        """
        self._budget.first_try()
        tries = 0
        earlier: tuple[Try, ...] = ()
        seconds = 0.0
        refused_at: float | None = None
        broken: bytes | None = None
        while True:
            token = await self._tokens.current()
            outcome = await self._try(group, url, token, limit)
            if outcome is None:
                continue
            tries += 1
            seconds += outcome.ms / 1000.0
            if isinstance(outcome, Answer):
                if outcome.status != _UNAUTHORIZED:
                    self._tokens.accepted(token)
                    self._known_good[group] = url
                    return Asked(outcome, tries, earlier)
                self._tokens.refused(token, refused_at)
                earlier = (*earlier, Try(_UNAUTHORIZED, "unauthorized", round(outcome.ms), 0))
                refused_at = self._clock.monotonic()
                continue
            if outcome.body is not None and outcome.body == broken:
                # Twice the same: this is what the service says, and the gate's to judge.
                return Asked(Answer(status=200, body=outcome.body, ms=outcome.ms), tries, earlier)
            broken = outcome.body
            if self._is_over(outcome, tries, seconds) or not self._budget.take():
                return Asked(outcome, tries, earlier)
            pause = self._pause(outcome, tries)
            if self._breaker.would_exceed_deadline(pause):
                await self._last_word(group, url, outcome, limit)
                return Asked(outcome, tries, earlier)
            earlier = (*earlier, Try(outcome.status, outcome.code, round(outcome.ms), outcome.bytes))
            await self._clock.sleep(pause)

    async def _try(self, group: str, url: str, token: Token, limit: int) -> Answer | Trouble | None:
        """Send one request; None where the service had to be probed first, and failed."""
        async with self._pace as ticket:
            probe = await self._breaker.admit()
            if probe and self._known_good.get(group, url) != url:
                known = self._known_good[group]
                sent = await self._send(self._request(known, token), limit, known, group, probe=True)
                if isinstance(sent, Trouble) and sent.is_service_fault:
                    return None
                probe = False
            outcome = await self._send(self._request(url, token), limit, url, group, probe=probe)
            if isinstance(outcome, Answer):
                self._pace.record_success()
            elif outcome.overload or outcome.service:
                self._pace.too_much(ticket)
            return outcome

    async def _last_word(self, group: str, url: str, trouble: Trouble, limit: int) -> None:
        """Raise ServiceDown unless something else is answered: nothing was for long, and `url` is told to wait."""
        known = self._known_good.get(group, url)
        if known != url:
            token = await self._tokens.current()
            sent = await self._send(self._request(known, token), limit, known, group, probe=False)
            if isinstance(sent, Answer) or not sent.is_service_fault:
                return
        raise ServiceDown(
            f"nothing was answered, and the service has no time left to wait on: {trouble.reason} ({trouble.code})"
        )

    async def _send(
        self,
        request: httpx.Request,
        limit: int,
        subject: str,
        operation: str,
        *,
        probe: bool,
        within: float = math.inf,
    ) -> Answer | Trouble:
        breaker = self._breaker
        within = min(within, breaker.seconds_left())
        timeout = min(self._partner.timeout_seconds, max(_LEAST_SECONDS, within))
        request.extensions["timeout"] = {"connect": self._partner.connect_timeout_seconds}
        began = breaker.sent()
        told = False
        try:
            outcome = await exchange(
                self._network,
                request,
                limit=limit,
                seconds=timeout,
                clock=self._clock,
                seen=Seen(self._behaviour, operation),
            )
            told = True
            self._count(operation, outcome)
        finally:
            breaker.ended()
            if probe and not told:
                breaker.abandoned()
        tells: Told | None = None
        if isinstance(outcome, Trouble) and outcome.body is not None:
            tells = self._pages.tell(subject, outcome.body)
            if tells is Told.A_PAGE:
                why = "different ids get the same body, which is not JSON"
                outcome = replace(outcome, body=None, service=True, reason=why)
        if isinstance(outcome, Trouble) and outcome.is_service_fault and tells is not Told.ITS_OWN:
            breaker.failed(
                subject,
                began,
                f"{outcome.reason} ({outcome.code})",
                probe=probe,
                doubtful=tells is Told.NOTHING_YET,
                wait=self._asked_to_wait(outcome),
            )
        else:
            breaker.worked(began)
        return outcome

    def _count(self, operation: str, outcome: Answer | Trouble) -> None:
        at = self._clock.now()
        if isinstance(outcome, Answer):
            self._behaviour.took(at, operation, outcome.ms, len(outcome.body) or None)
        else:
            self._behaviour.took(at, operation, outcome.ms, None)
            self._behaviour.met(at, operation, "trouble", outcome.code)

    async def _ask_for_token(self) -> bytes:
        """Return the body of an answer that should hold a token; a service that is away is waited for."""
        path = self._partner.authenticate.path
        began = self._clock.monotonic()
        for tries in range(1, _TOKEN_TRIES + 1):
            request = authenticate_request(self._partner)
            probe = await self._breaker.admit()
            left = began + self._partner.outage_timeout_seconds - self._clock.monotonic()
            outcome = await self._send(request, _TOKEN_BYTES, path, "authenticate", probe=probe, within=left)
            if isinstance(outcome, Answer):
                if outcome.status in _TOKEN_ANSWERS:
                    return outcome.body
                raise AuthenticationFailed(_refusal(path, outcome.status))
            if not outcome.transient:
                raise AuthenticationFailed(f"{path}: {outcome.reason} ({outcome.code})")
            why = f"{outcome.reason} ({outcome.code})"
            pause = self._pause(outcome, tries, longest=_TOKEN_LONGEST_SECONDS)
            if self._clock.monotonic() + pause >= began + self._partner.outage_timeout_seconds:
                break
            if tries == 1:
                log.warning("%s gives no token: %s; tried again for %.0f s", path, why, left)
            await self._clock.sleep(pause)
        raise ServiceDown(f"no token after {tries} tries of {path}: {why}; is [partner] base_url right?")

    def _is_over(self, trouble: Trouble, tries: int, seconds: float) -> bool:
        # Tries that hang use up patience; waiting between them does not, nor do those of a service that is away.
        hangs = (
            seconds + self._partner.timeout_seconds > self._partner.outage_timeout_seconds and not self._breaker.is_open
        )
        return not trouble.transient or tries >= self._partner.max_attempts or (tries > 1 and hangs)

    def _pause(self, trouble: Trouble, tries: int, *, longest: float = LONGEST_SECONDS) -> float:
        # Who is told to slow down starts further up.
        refused = _REFUSED if trouble.overload and not trouble.service else 0
        return self._asked_to_wait(trouble) + full_jitter(tries + refused, self._clock.random(), longest)

    def _asked_to_wait(self, trouble: Trouble) -> float:
        return min(trouble.retry_after or 0.0, self._partner.max_retry_after_seconds)

    def _request(self, url: str, token: Token) -> httpx.Request:
        header = self._partner.authenticate.header
        return httpx.Request("GET", url, headers={**ASK_FOR_JSON, header: token.header_value.reveal()})


def _refusal(path: str, status: int) -> str:
    if status == _UNAUTHORIZED:
        return f"{path} answers 401: are client_id and client_secret right?"
    return f"{path} answers {status}: is [partner.authenticate] path right?"
