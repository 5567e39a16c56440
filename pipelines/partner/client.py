"""The client of the partner service: it fetches a document or the list of stores, and returns it or a reason.

A request waits for a place among those in flight and for the circuit breaker, and is sent with a token. A fault that
may pass is repeated after a random, growing pause, as long as the retry budget of the run lasts. While the breaker is
open, one request at a time probes the service, by the address that was answered last: so a failing id is told from a
failing service. A 401, or an error that may mean an expired token, renews the token once for all requests.

    Order 7 is answered 503 twice, order 8 in between with its document: the service is well, so after [partner]
    max_attempts the result is `server_error` for order 7 alone. Had order 8 failed too, both would wait for a probe
    that is answered, for at most [partner] outage_timeout_seconds; then the run ends with ServiceDown.
"""

import asyncio
import logging
import math
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from pipelines.partner.behaviour import Behaviour
from pipelines.partner.breaker import BodyOrigin, Breaker, KnownGood, Pages, has_a_field
from pipelines.partner.exchange import (
    ASK_FOR_JSON,
    NO_ADDRESS,
    PROXY,
    Answer,
    Attempt,
    AuthenticationFailed,
    Fetched,
    Recorder,
    RequestError,
    RunTooLong,
    ServiceDown,
    exchange,
    unusable,
)
from pipelines.partner.listing import StoreListing
from pipelines.partner.network import open_client
from pipelines.partner.pacing import LONGEST_SECONDS, Clock, ConcurrencyLimit, RetryBudget, full_jitter
from pipelines.partner.pointer import parse, raw_at
from pipelines.partner.token import Token, Tokens, authenticate_request, refusal
from pipelines.settings import Partner
from pipelines.settings.kinds import ENTITIES, Kind

log = logging.getLogger(__name__)

_ID = re.compile(r"\{\w+\}")  # in a path of settings
_PAGE_BYTES = 67_108_864
_TOKEN_BYTES = 1_048_576
_TOKEN_ANSWERS = (200, 201)
_UNAUTHORIZED = 401
# As services answer an expired token, too; others send a page, a redirect to one, or 200 with an error.
_EXPIRIES = frozenset([400, 403, 412, 419, 422, 440, 498, 499])
_RATE_LIMITED = 3  # attempts by which the backoff of a rate-limited request starts later
_TOKEN_ATTEMPTS, _TOKEN_LONGEST_SECONDS = 30, 20.0
_NAME_ATTEMPTS = 3  # a name without an address has one within seconds, or not in this run
_MIN_SECONDS = 1.0
_SHARE = 0.25  # of a run's time, at most, for each kind but the orders
_AGE_DIGITS, _CLOCK_SECONDS = 10, 600.0
_BODIES = 4  # complete bodies for one id that are no usable document, before validation decides on the last
_OK = 200


class PartnerClient(AbstractAsyncContextManager["PartnerClient"]):
    """Sends requests to the partner service; an async context manager, for one run.

    Reads a body to just above `max_bytes`. Redirects are errors. `fields` names the fields of each kind of document: a
    body that has none of them, or comes for several ids, is then a fault of the service, as long as it may pass.
    `transport` replaces the network, `clock` time and randomness. `behaviour` counts the service's observed behaviour.
    """

    def __init__(
        self,
        partner: Partner,
        *,
        max_bytes: int = 5_242_880,
        fields: Mapping[str, frozenset[str]] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.max_concurrency = partner.max_concurrency
        self.behaviour = Behaviour()
        self._partner = partner
        self._max_bytes, self._fields = max_bytes, fields or {}
        self._clock = clock or Clock()
        self._http = client_of(partner, transport)
        self._ahead = math.nan  # seconds by which the service's clock is ahead; nan: unknown
        self._began = self._since = self._clock.monotonic()
        self._group, self._spent = "", dict[str, float]()
        self._limit = ConcurrencyLimit(partner.max_concurrency)
        self._budget = RetryBudget()
        self._breaker = Breaker(self._clock, partner.outage_timeout_seconds)
        self.expiries: set[str] = set()  # errors, other than 401, against which a new token helped
        self._tokens = Tokens(partner, self._clock, self._request_token, self.behaviour)
        self._known = KnownGood(self._ask, self._tokens, self._breaker, self._clock)
        self._pages = Pages()

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def fetch(self, kind: Kind, id_: int) -> Fetched:
        """Return a document, or the error of its last attempt; raise RunStopped if all requests are over."""
        path: str = getattr(self._partner, ENTITIES[kind]).path
        url = self._partner.base_url.rstrip("/") + _ID.sub(str(int(id_)), path)
        end, earlier = await self._repeat(kind, url, limit=self._max_bytes)
        asked: dict[str, Any] = {"kind": kind, "id": id_, "fetched_at": self._clock.now(), "ms": end.ms}
        asked |= {"attempts": len(earlier) + 1, "earlier": earlier, "status": end.status}
        if isinstance(end, RequestError):
            return Fetched(**asked, code=end.code, message=end.message, bytes=end.bytes)
        body = self._record(end.body) if kind == "stores" else end.body
        date = end.headers.get("date", "")
        age = self._age(date, end.headers.get("age", ""), asked["fetched_at"])
        return Fetched(**asked, body=body, bytes=len(end.body), date=date, age=age)

    def _age(self, date: str, age: str, at: datetime) -> float:
        """Return for how long a cache kept an answer, by its Age, or by its Date beside that of the last login.

        No cache keeps a login, so its Date is by how much the service's clock is ahead; ten minutes are left to clocks.
        """
        kept = float(age) if age.isascii() and age.isdigit() and len(age) < _AGE_DIGITS else 0.0
        late = self._ahead - _ahead(date, at)
        return max(kept, late if late > _CLOCK_SECONDS else 0.0)

    async def list_stores(self) -> AsyncGenerator[list[bytes]]:
        """Yield the stores page by page, each as its own JSON text; raise ListingBroken if the list cannot be read."""
        async for page in StoreListing(self._partner, self._page, self._clock).pages():
            yield page

    def _record(self, body: bytes) -> bytes:
        """Return the store's record in its envelope; the body as it is if there is none, which validation rejects."""
        pointer = self._partner.store.record_pointer
        found = raw_at(body, parse(pointer)) if pointer else None
        return body if found is None else bytes(found)

    async def _page(self, url: str) -> Answer | RequestError:
        return (await self._repeat("store list", url, limit=_PAGE_BYTES))[0]

    async def _repeat(self, group: str, url: str, *, limit: int) -> tuple[Answer | RequestError, tuple[Attempt, ...]]:
        """Return the answer for `url`, or the last error if a retry cannot help, and all attempts but the last.

        The url that was answered last in the same `group` serves as a probe, to tell a failing service from a failing
        `url`. Raise RunStopped if nothing more can be requested.
        """
        self._budget.first_attempt()
        attempts = 0
        earlier: tuple[Attempt, ...] = ()
        seconds = 0.0
        rejected_at: float | None = None
        expiry = ""
        broken: bytes | None = None
        bodies = 0
        while True:
            self._check_time(group)
            token = await self._tokens.current()
            outcome = await self._attempt(group, url, token, limit)
            if outcome is None:
                continue
            attempts += 1
            seconds += outcome.ms / 1000.0
            if isinstance(outcome, Answer):
                if outcome.status != _UNAUTHORIZED:
                    self._tokens.accepted(token)
                    self._known.urls[group] = url
                    if expiry and expiry not in self.expiries:
                        self.expiries.add(expiry)
                        self.behaviour.record(self._clock.now(), "authenticate", "token_lifetime", expiry)
                        log.warning(
                            "the service answers %s when a token has expired; the token is then renewed", expiry
                        )
                    return outcome, earlier
                if (alone := await self._refused(outcome, token, rejected_at, url, limit)) is not None:
                    return alone, earlier
                earlier = (*earlier, Attempt(_UNAUTHORIZED, "unauthorized", round(outcome.ms), 0))
                rejected_at = self._clock.monotonic()
                continue
            attempt = Attempt(outcome.status, outcome.code, round(outcome.ms), outcome.bytes)
            if await self._is_expiry(outcome, attempts, token, group, url, limit):
                earlier, expiry = (*earlier, attempt), outcome.code
                continue
            bodies += outcome.body is not None
            is_over = self._is_over(outcome, attempts, seconds)
            if outcome.body is not None and (
                outcome.body == broken or (group in self._fields and (is_over or bodies >= _BODIES))
            ):
                # The same twice, or often enough: the service has this, and validation decides on it.
                return Answer(status=200, body=outcome.body, ms=outcome.ms), earlier
            broken = None if outcome.is_of_many else outcome.body
            pause = self._pause(outcome, attempts)
            if is_over or not self._budget.take() or not await self._may_wait(group, url, outcome, pause, limit):
                return outcome, earlier
            earlier = (*earlier, attempt)
            await self._clock.sleep(pause)

    def _check_time(self, group: str) -> None:
        """Raise RunTooLong if the run's time is over, or the share of a kind that comes before the orders."""
        now, most = self._clock.monotonic(), self._partner.max_run_seconds
        if group != self._group:
            self._spent[self._group] = self._spent.get(self._group, 0.0) + now - self._since
            self._group, self._since = group, now
        share = 1.0 if group == "orders" else _SHARE
        if most and max((now - self._began), (self._spent.get(group, 0.0) + now - self._since) / share) >= most:
            of = "" if group == "orders" or now - self._began >= most else f" times {_SHARE:g}, the share of {group},"
            raise RunTooLong(f"[partner] max_run_seconds = {most:g}{of} are over; the next run fetches the rest")

    async def _refused(
        self, answer: Answer, token: Token, rejected_at: float | None, url: str, limit: int
    ) -> RequestError | None:
        """Renew a refused token; return an error for an url that is refused alone."""
        if not await self._known.is_refused_alone(token, rejected_at, url, limit):
            self._tokens.rejected(token, rejected_at)
        elif rejected_at is not None:
            alone = "the service answers 401 for this id alone, and accepts the same token for others"
            return unusable(answer, "unauthorized", alone, transient=False)
        return None

    async def _is_expiry(self, error: RequestError, tries: int, token: Token, group: str, url: str, limit: int) -> bool:
        """Tell whether an error other than 401 means that the token has expired, which is then replaced."""
        may_be = error.status in _EXPIRIES or error.code in {"no_known_field", "content_type", "redirect"}
        is_left = tries < self._partner.max_attempts
        return may_be and is_left and await self._known.is_expired(token, group, url, error, limit)

    async def _attempt(self, group: str, url: str, token: Token, limit: int) -> Answer | RequestError | None:
        """Send one request; return None if the service had to be probed first, and the probe failed."""
        async with self._limit as ticket:
            probe = await self._breaker.admit()
            if probe and self._known.urls.get(group, url) != url:
                known = self._known.urls[group]
                sent = await self._send(_request(known), limit, known, group, probe=True, token=token)
                if isinstance(sent, RequestError) and sent.is_service_fault:
                    return None
                probe = False
            outcome = await self._send(_request(url), limit, url, group, probe=probe, token=token)
            if isinstance(outcome, Answer):
                self._limit.record_success()
            elif outcome.overload or outcome.service:
                self._limit.record_overload(ticket)
            return outcome

    async def _may_wait(self, group: str, url: str, error: RequestError, pause: float, limit: int) -> bool:
        """Tell whether `url` may be requested again after `pause`; raise ServiceDown if nothing else is answered."""
        if not self._breaker.would_exceed_deadline(pause):
            return True
        await self._known.give_up_unless_answered(group, url, error, limit)
        return error.is_limit

    async def _ask(self, group: str, url: str, token: Token, limit: int) -> Answer | RequestError:
        return await self._send(_request(url), limit, url, group, probe=False, token=token)

    async def _send(
        self,
        request: httpx.Request,
        limit: int,
        subject: str,
        operation: str,
        *,
        probe: bool,
        token: Token | None = None,
        within: float = math.inf,
    ) -> Answer | RequestError:
        breaker = self._breaker
        within = min(within, breaker.seconds_left())
        timeout = min(self._partner.timeout_seconds, max(_MIN_SECONDS, within))
        request.extensions["timeout"] = {"connect": self._partner.connect_timeout_seconds}
        began = breaker.sent()
        has_result = False
        try:
            recorder = Recorder(self.behaviour, operation)
            outcome = await exchange(
                self._http, request, auth=token, limit=limit, seconds=timeout, clock=self._clock, recorder=recorder
            )
            has_result = True
            at, size = self._clock.now(), len(outcome.body or b"") if isinstance(outcome, Answer) else 0
            self.behaviour.record_cost(at, operation, outcome.ms, size or None)
            if isinstance(outcome, RequestError):
                self.behaviour.record(at, operation, "request_error", outcome.code)
        finally:
            breaker.ended()
            if probe and not has_result:
                breaker.notify()
        outcome, origin = self._origin(outcome, subject, operation)
        if isinstance(outcome, RequestError) and outcome.is_service_fault and origin is not BodyOrigin.DOCUMENT:
            why, wait = f"{outcome.message} ({outcome.code})", self._requested_wait(outcome)
            doubtful, is_limit = origin is BodyOrigin.UNKNOWN, outcome.is_limit
            breaker.failed(subject, began, why, probe=probe, doubtful=doubtful, is_limit=is_limit, wait=wait)
        else:
            breaker.record_success(began)
        return outcome

    def _origin(
        self, outcome: Answer | RequestError, subject: str, operation: str
    ) -> tuple[Answer | RequestError, BodyOrigin | None]:
        """Return the outcome as an error if its body is no document of `subject`, and where such a body comes from."""
        names = self._fields.get(operation)
        if isinstance(outcome, Answer):
            if not names or outcome.status != _OK or outcome.oversize:
                return outcome, None
            if not has_a_field(outcome.body, names):
                outcome = unusable(outcome, "no_known_field", "the body has no documented field", body=outcome.body)
                # Two texts about two ids are the same error.
                origin = self._pages.origin(subject, operation.encode())
            elif (other := self._pages.other_subject(subject, operation, outcome.body)) is not None:
                if self._known.urls.get(operation) == other:
                    del self._known.urls[operation]  # what it returns shows nothing any more
                outcome = unusable(outcome, "same_body", "different ids return the same body", body=outcome.body)
                origin = BodyOrigin.PAGE
            else:
                return outcome, None
        elif outcome.body is not None:
            origin = self._pages.origin(subject, outcome.body)
        else:
            return outcome, None
        if origin is BodyOrigin.PAGE:
            if names:
                return replace(outcome, is_of_many=True), origin
            message = "different ids return the same body, which is not JSON"
            return replace(outcome, body=None, service=True, message=message), origin
        return outcome, origin

    async def _request_token(self) -> bytes:
        """Return the body of the token response; wait for a service that is down."""
        path = self._partner.authenticate.path
        began = self._clock.monotonic()
        for attempts in range(1, _TOKEN_ATTEMPTS + 1):
            request = authenticate_request(self._partner)
            probe = await self._breaker.admit()
            left = began + self._partner.outage_timeout_seconds - self._clock.monotonic()
            outcome = await self._send(request, _TOKEN_BYTES, path, "authenticate", probe=probe, within=left)
            if isinstance(outcome, Answer):
                if outcome.status in _TOKEN_ANSWERS:
                    self._ahead = _ahead(outcome.headers.get("date", ""), self._clock.now())
                    return outcome.body
                raise AuthenticationFailed(refusal(path, outcome.status))
            if not outcome.transient:
                is_said = outcome.code == f"status_{outcome.status}"
                raise AuthenticationFailed(
                    refusal(path, outcome.status or 0) if is_said else f"{path}: {outcome.message} ({outcome.code})"
                )
            why = f"{outcome.message} ({outcome.code})"
            pause = self._pause(outcome, attempts, longest=_TOKEN_LONGEST_SECONDS)
            is_nameless = outcome.code == NO_ADDRESS and attempts == _NAME_ATTEMPTS
            if is_nameless or self._clock.monotonic() + pause >= began + self._partner.outage_timeout_seconds:
                break
            if attempts == 1:
                log.warning("%s issues no token: %s; retrying for %.0f s", path, why, left)
            await self._clock.sleep(pause)
        setting = "proxy, HTTP_PROXY and HTTPS_PROXY" if f"({PROXY})" in why else "base_url"
        raise ServiceDown(f"no token after {attempts} attempts of {path}: {why}; check [partner] {setting}")

    def _is_over(self, error: RequestError, attempts: int, seconds: float) -> bool:
        # Only attempts that hang count: not the waits between them, nor attempts during an outage.
        hangs = seconds + self._partner.timeout_seconds > self._partner.outage_timeout_seconds
        hangs = hangs and not self._breaker.is_open
        return not error.transient or attempts >= self._partner.max_attempts or (attempts > 1 and hangs)

    def _pause(self, error: RequestError, attempts: int, *, longest: float = LONGEST_SECONDS) -> float:
        # A rate-limited request starts with a longer pause.
        extra = _RATE_LIMITED if error.is_limit else 0
        return self._requested_wait(error) + full_jitter(attempts + extra, self._clock.random(), longest)

    def _requested_wait(self, error: RequestError) -> float:
        return min(error.retry_after or 0.0, self._partner.max_retry_after_seconds)


def _ahead(date: str, at: datetime) -> float:
    try:
        return (parsedate_to_datetime(date) - at).total_seconds()
    except (TypeError, ValueError, OverflowError):  # absent, no date, or one without a time zone
        return math.nan


def _request(url: str) -> httpx.Request:
    return httpx.Request("GET", url, headers=ASK_FOR_JSON)


def client_of(partner: Partner, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return a client of the service, with one connection more than requests at once, for the token."""
    connections = partner.max_concurrency + 1
    return open_client(partner.base_url, proxy=partner.proxy, connections=connections, transport=transport)


async def fetch_all(client: PartnerClient, kind: Kind, ids: Iterable[int]) -> AsyncGenerator[Fetched]:
    """Yield one Fetched for each of `ids`, in the order of completion.

    At most `max_concurrency` ids are taken from `ids`, which may be lazy, before they are answered. Raise RunStopped if
    nothing more can be requested; ids not yet yielded are then unanswered. Leaving early cancels requests in flight:
    use `contextlib.aclosing`.
    """
    waiting = iter(ids)
    done: asyncio.Queue[asyncio.Task[Fetched]] = asyncio.Queue()
    in_flight: set[asyncio.Task[Fetched]] = set()

    def start_next() -> None:
        for id_ in waiting:
            task = asyncio.create_task(client.fetch(kind, id_))
            in_flight.add(task)
            task.add_done_callback(done.put_nowait)
            return

    try:
        for _ in range(client.max_concurrency):
            start_next()
        while in_flight:
            task = await done.get()
            in_flight.discard(task)
            fetched = task.result()
            start_next()
            yield fetched
    finally:
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
