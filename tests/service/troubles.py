"""Answer with faults: an ASGI application around the sandbox's, with the faults that the fields of Trouble name.

What happens is decided by seed, per document and attempt; a record has all of it. Tests control both below /_sandbox:

    POST /_sandbox/faults          the fields of Trouble; omitted ones are off
    GET, DELETE /_sandbox/served   requests, responses and injected faults; DELETE clears them
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import random
import re
import socket
import stat
import struct
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from pipelines.sandbox.app import ROOT, IssuedTokens, error

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


Mishap = Literal[
    "404", "429", "500", "503", "reset", "truncated", "content_type", "slow", "drip",
    "error", "same", "unreadable", "no_id", "empty", "401", "403",
]  # fmt: skip
Operation = Literal["authenticate", "store_list", "stores", "menus", "orders"]
MISHAPS: tuple[Mishap, ...] = get_args(Mishap)
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Trouble(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rates are shares of requests, at most one fault per request. The default is a healthy service."""

    rate_404: Share = 0.0
    rate_429: Share = 0.0
    rate_500: Share = 0.0
    rate_503: Share = 0.0
    rate_reset: Share = 0.0  # the connection is reset instead of an answer
    rate_truncated: Share = 0.0  # half of Content-Length, then the end
    rate_content_type: Share = 0.0  # text/html over the right body
    rate_slow: Share = 0.0  # answered after slow_seconds
    rate_drip: Share = 0.0  # a byte every drip_seconds
    rate_error: Share = 0.0  # an error as JSON, with status 200; its text names the id
    rate_same: Share = 0.0  # the right document of the first id that was requested so, for every id
    rate_unreadable: Share = 0.0  # no JSON, with status 200 and the content type of JSON
    rate_no_id: Share = 0.0  # the right document without its id
    rate_empty: Share = 0.0  # an empty array
    rate_401: Share = 0.0
    rate_403: Share = 0.0
    slow_seconds: float = 1.0
    drip_seconds: float = 1.0
    retry_after: float | None = None  # seconds, sent with every 429 and 503
    latency_seconds: float = 0.0  # of every response
    # Beyond so many concurrent requests: 429; each for capacity_seconds, the last for ever.
    capacity: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] = ()
    capacity_seconds: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    poison: tuple[int, ...] = ()  # ids that always fail
    poison_with: Mishap = "500"
    only: tuple[Operation, ...] = ()  # affected operations; empty: all
    token_life_seconds: int | None = None  # of tokens from now on
    revoke_at_in_flight: int = 0  # tokens are revoked, once, at so many concurrent requests

    def __post_init__(self) -> None:
        if sum(map(self.rate, MISHAPS)) > 1 + 1e-9:
            raise ValueError("rates are shares of requests, and add up to 1 at most")

    def rate(self, mishap: Mishap) -> float:
        """Return the rate of a fault."""
        share: float = getattr(self, f"rate_{mishap}")
        return share

    def mishap(self, seed: int, operation: str, asked: str, no: int) -> Mishap | None:
        """Return the fault of attempt `no` to request something: the same whenever it is requested."""
        if self.only and operation not in self.only:
            return None
        if operation not in {"authenticate", "store_list"} and asked.isdecimal() and int(asked) in self.poison:
            return self.poison_with
        if not any(map(self.rate, MISHAPS)):
            return None
        drawn = random.Random(f"{seed}/{operation}/{asked}/{no}").random()
        for mishap in MISHAPS:
            drawn -= self.rate(mishap)
            if drawn < 0:
                return mishap
        return None

    def limit(self, seconds: float) -> int | None:
        """Return the capacity this long after the faults began; None: unlimited."""
        if not self.capacity:
            return None
        return self.capacity[min(int(seconds / self.capacity_seconds), len(self.capacity) - 1)]


# Long enough for the server to send what it was given.
_FLUSH_SECONDS = 0.02
_GONE_SECONDS = 5.0
_NO_LINGER = struct.pack("ii", 1, 0)
# Faults that are answers of the service's own, with their status and text.
_REFUSALS = {
    "404": (404, "record not found"),
    **dict.fromkeys(("429", "over_capacity"), (429, "too many requests")),
    **{status: (int(status), "not allowed") for status in ("401", "403")},
    **{status: (int(status), "the service failed") for status in ("500", "503")},
}
# Faults with status 200 and another body, made of the id that was asked for and of the right body.
_INSTEAD: dict[str, Callable[[bytes, bytes], bytes]] = {
    "error": lambda asked, _: b'{"error":{"code":"not_found","message":"nothing under %s"}}' % asked,
    "same": lambda _, body: body,
    "unreadable": lambda *_: b"<html>back soon</html>",
    "no_id": lambda _, body: re.sub(rb'"id":\s*\d+,?', b"", body, count=1),
    "empty": lambda *_: b"[]",
}


class JsonWebTokens(IssuedTokens):
    """Tokens that say when they expire, as many services issue them, and that can be revoked."""

    def issue(self) -> str:
        """Return a new token; no two are equal."""
        issued = int(self._now())
        parts = {"alg": "HS256", "typ": "JWT"}, {"iat": issued, "exp": issued + self.life_seconds}, super().issue()
        token = ".".join(base64.urlsafe_b64encode(msgspec.json.encode(part)).rstrip(b"=").decode() for part in parts)
        self._expiry[token] = issued + self.life_seconds
        return token

    def revoke(self) -> None:
        """Refuse every token issued so far."""
        self._expiry.clear()


class Faults:
    """One service's faults and its record of requests; `app` is the service's application with them."""

    def __init__(self, service: ASGIApp, seed: int, tokens: JsonWebTokens) -> None:
        self.app = Starlette(
            routes=[
                Route("/_sandbox/faults", self._post, methods=["POST"]),
                Route("/_sandbox/served", self._served, methods=["GET", "DELETE"]),
                Mount("/", self._answer),
            ]
        )
        self.record = Record()
        self._service, self._seed, self._tokens = service, seed, tokens
        self._life_seconds = tokens.life_seconds
        self.set(Trouble())

    def set(self, trouble: Trouble) -> None:
        """Replace the faults."""
        life = trouble.token_life_seconds
        self._tokens.life_seconds = self._life_seconds if life is None else life
        self.trouble = trouble
        self._began, self._revoked = 0.0, False  # 0: with the next request
        self._same: bytes | None = None

    async def _post(self, request: Request) -> Response:
        try:
            self.set(msgspec.json.decode(await request.body(), type=Trouble))
        except msgspec.DecodeError as wrong:
            return error(400, str(wrong))
        return JSONResponse({})

    async def _served(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.record.clear()
        return JSONResponse(self.record.shown())

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to an operation of the interface, with a fault or without; pass others on."""
        name, _, asked = scope["path"].removeprefix(f"{ROOT}/").partition("/")
        operation = "store_list" if name == "stores" and not asked else name
        if operation not in get_args(Operation):
            await self._service(scope, receive, send)
            return
        no = self.record.start(operation, asked)
        end = "gone"

        async def watched(message: Message) -> None:
            nonlocal end
            if message["type"] == "http.response.start":
                end = str(message["status"])
            await send(message)

        mishap = None
        try:
            mishap = await self._mishap(operation, asked, no)
            if mishap is None:
                await self._service(scope, receive, watched)
            else:
                self.record.fault(mishap, operation, asked, no)
                await self._answer_with(mishap, asked, scope, receive, watched)
        finally:
            self.record.end(operation, mishap if mishap in {"reset", "truncated"} else end)

    async def _mishap(self, operation: str, asked: str, no: int) -> str | None:
        """Return the fault of a request, after the service's latency."""
        trouble, now = self.trouble, time.monotonic()
        self._began = self._began or now
        if trouble.revoke_at_in_flight and not self._revoked and self.record.in_flight >= trouble.revoke_at_in_flight:
            self._revoked = True
            self._tokens.revoke()
        limit = trouble.limit(now - self._began)
        if limit is not None and self.record.in_flight > limit:
            return "over_capacity"
        if trouble.latency_seconds:
            await asyncio.sleep(trouble.latency_seconds)
        return trouble.mishap(self._seed, operation, asked, no)

    async def _answer_with(self, mishap: str, asked: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with a fault."""
        if mishap == "reset":
            _end_connection(scope, is_reset=True)
            await _gone(receive)
            return
        if mishap == "slow":
            await asyncio.sleep(self.trouble.slow_seconds)
            await self._service(scope, receive, send)
            return
        status, text = _REFUSALS.get(mishap, (0, ""))
        start, body = await _heard(error(status, text) if status else self._service, scope, receive)
        if status in {429, 503} and self.trouble.retry_after is not None:
            start = _with_header(start, b"retry-after", b"%g" % self.trouble.retry_after)
        elif mishap == "content_type":
            start = _with_header(start, b"content-type", b"text/html; charset=utf-8")
        elif mishap in _INSTEAD and start["status"] == 200:
            self._same = self._same or (body if mishap == "same" else None)
            body = (self._same or b"") if mishap == "same" else _INSTEAD[mishap](asked.encode(), body)
            start = _with_header(start, b"content-length", b"%d" % len(body))
        await send(start)
        if mishap == "truncated":
            await send(_part(body[: len(body) // 2], more=True))
            await asyncio.sleep(_FLUSH_SECONDS)
            _end_connection(scope, is_reset=False)
            await _gone(receive)
        elif mishap == "drip":
            await self._drip(body, receive, send)
        else:
            await send(_part(body, more=False))

    async def _drip(self, body: bytes, receive: Receive, send: Send) -> None:
        """Send a body byte by byte, until it ends or the client is gone."""
        gone = asyncio.ensure_future(_gone(receive))
        for place in range(len(body)):
            await send(_part(body[place : place + 1], more=True))
            await asyncio.wait([gone], timeout=self.trouble.drip_seconds)
            if gone.done():
                return
        gone.cancel()
        await send(_part(b"", more=False))


async def _heard(app: ASGIApp, scope: Scope, receive: Receive) -> tuple[Message, bytes]:
    """Return what an application says: the start of its answer, and its body."""
    said: list[Message] = []

    async def listen(message: Message) -> None:
        said.append(message)

    await app(scope, receive, listen)
    return said[0], b"".join(message.get("body", b"") for message in said[1:])


def _with_header(start: Message, name: bytes, value: bytes) -> Message:
    """Return the start of an answer with this header in the place of one that it may have."""
    return {**start, "headers": [*(each for each in start["headers"] if each[0] != name), (name, value)]}


def _part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _gone(receive: Receive) -> Any:
    """Wait until the client is gone, but not for ever."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GONE_SECONDS):
            while (await receive())["type"] != "http.disconnect":
                pass


def _end_connection(scope: Scope, *, is_reset: bool) -> None:
    """End our side of the connection with the client, by a TCP reset or at once; do nothing when it is gone."""
    host, port = scope["client"]
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers, not paths
        with contextlib.suppress(OSError):  # gone meanwhile, or without a peer
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    if connection.getpeername()[:2] == (host, int(port)):  # the server gives text
                        if is_reset:  # the server sees the end of its input, and closes: without lingering, a reset
                            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
                        connection.shutdown(socket.SHUT_RD if is_reset else socket.SHUT_RDWR)
                        return


class Record:
    """All requests since the start, or since `clear`, except those to the control API."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.clear()

    def clear(self) -> None:
        """Clear everything, attempt counts included."""
        self.requests = 0
        self.most_in_flight = self.in_flight
        self.answers: Counter[str] = Counter()
        self._tries: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._mishaps: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self._seconds: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._busy: defaultdict[int, float] = defaultdict(float)
        self._since = self._began = time.monotonic()

    def start(self, operation: str, asked: str) -> int:
        """Record a request; return its attempt number, from 1."""
        self._pass()
        if not self.requests:
            self._began = self._since
        self.requests += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self._tries[operation][asked] += 1
        return self._tries[operation][asked]

    def end(self, operation: str, outcome: str) -> None:
        """Record how a request ended: a status, or a fault of its connection."""
        second = self._pass()
        self.in_flight -= 1
        self.answers[f"{operation} {outcome}"] += 1
        self._seconds[second][outcome] += 1

    def fault(self, mishap: str, operation: str, asked: str, no: int) -> None:
        """Record a fault that was injected."""
        self._mishaps[mishap].append((operation, asked, no))

    def shown(self) -> dict[str, Any]:
        """Return everything as JSON values.

        `tries` counts requests by operation and id, `mishaps` lists (operation, id, attempt) by fault,
        `seconds` has outcomes per second since the first request, and the mean concurrency.
        """
        self._pass()
        last = max(self._seconds, default=-1)
        return {
            "requests": self.requests,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "answers": dict(self.answers),
            "tries": {operation: dict(tries) for operation, tries in self._tries.items()},
            "mishaps": dict(self._mishaps),
            "seconds": [
                {"ends": dict(self._seconds[second]), "in_flight": round(self._busy[second], 2)}
                for second in range(last + 1)
            ],
        }

    def _pass(self) -> int:
        """Account for the time up to now at the current concurrency; return the current second."""
        now = time.monotonic()
        place, end = self._since - self._began, now - self._began
        while place < end:
            step = min(end, int(place) + 1.0)
            self._busy[int(place)] += (step - place) * self.in_flight
            place = step
        self._since = now
        return int(end)
