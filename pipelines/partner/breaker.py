"""Tell a failing service from a failing id, and stop requests to a failing service.

The circuit breaker probes it now and then, and gives up in the end:

closed ──sustained failure──► open ──time──► half open: one probe ──success──► closed
                               ▲                    └──failure──► open, for longer
                               └── until the service has failed for `patience` seconds: given up

An url that was answered last tells a failing url from a service that fails. A maintenance page or an error is the same
for every id, other than a document that is itself broken: of a document the names of its fields are known at most.
"""

import asyncio
import enum
import functools
import hashlib
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Hashable
from typing import Any

import msgspec

from pipelines.partner.exchange import Answer, RequestError, ServiceDown
from pipelines.partner.pacing import LONGEST_SECONDS, Clock
from pipelines.partner.token import Token, Tokens

Ask = Callable[[str, str, Token, int], Awaitable[Answer | RequestError]]

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
        self._clock, self._patience = clock, patience
        self._since: float | None = None  # when the first request of the failing streak was sent
        self._answered_at = -math.inf
        self._failures = self._doubtful = self._limits = self._probes = 0
        self._in_flight = 0
        self._subjects: set[Hashable] = set()
        self.is_open = self._probing = False  # open: requests are stopped until a probe succeeds
        self._pause = FIRST_PAUSE_SECONDS
        self._probe_at = 0.0
        self._gave_up: str | None = None
        self._changed = asyncio.Event()

    async def admit(self) -> bool:
        """Wait until a request may be sent, or raise ServiceDown; True makes it the one probe, to be recorded."""
        while True:
            if self._gave_up is not None:
                raise ServiceDown(self._gave_up)
            if not self.is_open:
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
    def has_answered_lately(self) -> bool:
        """Whether the service answered anything within half of the time after which it is given up."""
        return self._clock.monotonic() - self._answered_at < self._patience / 2.0

    def would_exceed_deadline(self, pause: float) -> bool:
        """Return whether `pause` uses up the time left, with too few subjects to open the breaker."""
        return not self.is_open and self._since is not None and pause >= self.seconds_left()

    def record_success(self, began: float) -> None:
        """Record that a request sent at `began` was answered; before the failures began, it proves nothing."""
        self._answered_at = self._clock.monotonic()
        if self._since is None or began < self._since:
            return
        if self.is_open:
            log.warning("the partner service answers again")
        self._since = None
        self._failures = self._doubtful = self._limits = self._probes = 0
        self._subjects.clear()
        self.is_open = False
        self._pause = FIRST_PAUSE_SECONDS
        self.notify()

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
        if self.is_open:
            if probe:
                self._probes += 1
                self._pause = min(self._pause * 2.0, LONGEST_PAUSE_SECONDS)
                self._rest(now, wait, why)
        elif self._sustained():
            log.warning("the partner service keeps failing: %s; requests stop until a probe succeeds", why)
            self.is_open = True
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
        self.notify()

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
        sleep = self._clock.sleep(max(_TICK, when - self._clock.monotonic()))
        waits = [asyncio.ensure_future(sleep), asyncio.ensure_future(self._changed.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def notify(self) -> None:
        """Let those that wait look again: the state changed, or the probe ended, even without a result."""
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


_UNAUTHORIZED = 401
_ALONE = 3  # urls rejected alone, from which on a rejection renews no token before another url was tried
_MEMORY_SECONDS = 1.0
_CHANCES = 8  # of a url to be answered, where the service limits its rate: it may answer most requests


class KnownGood:
    """By group of requests that are alike, the url that was answered last; `ask` sends one request and counts it."""

    def __init__(self, ask: Ask, tokens: Tokens, breaker: Breaker, clock: Clock) -> None:
        self.urls: dict[str, str] = {}
        self._ask, self._tokens, self._breaker, self._clock = ask, tokens, breaker, clock
        self._alone = 0
        self._useless: Token | None = None
        self._alone_until = 0, 0.0  # refusals other than 401 that were of their url alone, and until when all are
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

    async def is_expired(self, token: Token, group: str, url: str, error: RequestError, limit: int) -> bool:
        """Tell whether `token` fails for another url, too, and the token that then replaces it does not.

        A service that answers nothing any more costs two such requests and one token, until it answers again.
        """
        async with self._asking:
            if self._tokens.is_replaced(token):
                return await self._tokens.current() is not self._useless
            others = {name: known for name, known in self.urls.items() if known != url}
            alone, until = self._alone_until
            is_known = alone >= _CHANCES and self._clock.monotonic() < until
            if not others or is_known or self._breaker.is_open or self._tokens.is_renewed(token, None):
                return False
            name = group if group in others else list(others)[-1]
            sent = await self._ask(name, others[name], token, limit)
            if isinstance(sent, Answer) and sent.status != _UNAUTHORIZED:
                self._tokens.accepted(token)
                self._alone_until = alone + 1, self._clock.monotonic() + _MEMORY_SECONDS
                return False
            if isinstance(sent, RequestError) and sent.code != error.code:
                self._alone_until = _CHANCES, self._clock.monotonic() + LONGEST_SECONDS  # a service that fails at all
                return False
            self._tokens.rejected(token, None)
            renewed = await self._tokens.current()
            sent = await self._ask(name, others[name], renewed, limit)
            if isinstance(sent, Answer) and sent.status != _UNAUTHORIZED:
                return True
            self._useless = renewed  # else each request under way would be sent again with it
            return False

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
            f"sent: {error.message} ({error.code})"
        )


_MOST = 1_000  # bodies remembered; then the memory is cleared


class BodyOrigin(enum.Enum):
    """Where a body that is no usable document comes from."""

    UNKNOWN = enum.auto()  # seen for the first time
    DOCUMENT = enum.auto()  # the same again for the same id: the service has this
    PAGE = enum.auto()  # the same for different ids: not a document


def has_a_field(body: bytes, names: Collection[str]) -> bool:
    """Return whether a body is a JSON object with at least one of these members."""
    try:
        found = _members(frozenset(names)).decode(body)
    except ValueError:  # also a name that is no UTF-8
        return False
    except (RecursionError, UnicodeDecodeError):
        return True  # too deep, or a key that is not UTF-8: validation says so
    return any(value is not msgspec.UNSET for value in msgspec.structs.astuple(found))


@functools.lru_cache(maxsize=8)
def _members(names: frozenset[str]) -> msgspec.json.Decoder[Any]:
    """Return what keeps these members of an object alone, so that a hostile body costs no memory."""
    named = {f"f{n}": name for n, name in enumerate(sorted(names))}
    fields = [(field, msgspec.Raw, msgspec.UNSET) for field in named]
    return msgspec.json.Decoder(msgspec.defstruct("Members", fields, rename=named))


class Pages:
    """Remembers, by hash, for which id each body was returned."""

    def __init__(self) -> None:
        self._subjects: dict[bytes, Hashable] = {}
        self._documents: dict[tuple[str, int], Hashable] = {}

    def other_subject(self, subject: Hashable, kind: str, document: bytes) -> Hashable:
        """Return for which other subject of the kind this document was returned first; None if for no other."""
        if len(self._documents) >= _MOST:
            self._documents.clear()
        # Python's own hash is enough: two documents that share one by chance cost a few more requests.
        first = self._documents.setdefault((kind, hash(document)), subject)
        return None if first == subject else first

    def origin(self, subject: Hashable, body: bytes) -> BodyOrigin:
        """Return the origin of an unparsable body, as far as it is known, and remember the body."""
        if (key := hashlib.sha256(body).digest()) not in self._subjects:
            if len(self._subjects) >= _MOST:
                self._subjects.clear()
            self._subjects[key] = subject
            return BodyOrigin.UNKNOWN
        if self._subjects[key] == subject:
            return BodyOrigin.DOCUMENT
        self._subjects[key] = None  # no document's, from now on
        return BodyOrigin.PAGE
