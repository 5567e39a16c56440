"""Inject service faults as Trouble configures them: an ASGI application around each operation, and a record."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import math
import os
import re
import socket
import stat
import struct
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from pipelines.sandbox.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Error = Callable[[int, str], ASGIApp]

# Long enough for the server to send what it was given.
_FLUSH_SECONDS = 0.02
_GONE_SECONDS = 5.0


class FaultInjector:
    """One service's faults and its record of requests. `error` makes the service's own response for a status."""

    def __init__(self, seed: int, error: Error) -> None:
        self.record = Record()
        self.trouble = Trouble()
        self._seed = seed
        self._error = error
        self._began = 0.0  # 0: with the next request
        self._on_revoke: Callable[[], None] = lambda: None
        self._revoked = False
        self._unready: dict[str, float] = {}
        self._same: bytes | None = None

    def set(self, trouble: Trouble, on_revoke: Callable[[], None]) -> None:
        """Replace the faults; `on_revoke` invalidates every token."""
        self.trouble, self._on_revoke = trouble, on_revoke
        self._began, self._revoked, self._same = 0.0, False, None

    def announced(self, order_id: int) -> None:
        """Note that a webhook about a new order was sent: the service may not find it for a while."""
        if self.trouble.unready_seconds:
            self._unready[str(order_id)] = time.monotonic() + self.trouble.unready_seconds

    def around(self, operation: str, app: ASGIApp) -> ASGIApp:
        """Return the operation with its faults."""

        async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
            asked = scope.get("path_params", {}).get("id") or scope.get("query_string", b"").decode("latin-1")
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
                    await app(scope, receive, watched)
                else:
                    self.record.fault(mishap, operation, asked, no)
                    await self._faulty(mishap, app)(scope, receive, watched)
            finally:
                self.record.end(operation, mishap if mishap in {"reset", "truncated"} else end)

        return faulty

    async def _mishap(self, operation: str, asked: str, no: int) -> str | None:
        """Return the fault of a request, after the service's latency."""
        trouble, now = self.trouble, time.monotonic()
        self._began = self._began or now
        if trouble.revoke_at_in_flight and not self._revoked and self.record.in_flight >= trouble.revoke_at_in_flight:
            self._revoked = True
            self._on_revoke()
        limit = trouble.limit(now - self._began)
        if limit is not None and self.record.in_flight > limit:
            return "over_capacity"
        if trouble.latency_seconds:
            await asyncio.sleep(trouble.latency_seconds)
        if operation == "orders" and asked in self._unready:
            if time.monotonic() < self._unready[asked]:
                return "unready"
            del self._unready[asked]
        return trouble.mishap(self._seed, operation, asked, no)

    def _faulty(self, mishap: str, app: ASGIApp) -> ASGIApp:
        """Return the application with this fault."""
        if mishap in {"unready", "404"}:
            return self._error(404, "record not found")
        if mishap in {"401", "403"}:
            return self._error(int(mishap), "not allowed")
        if mishap in {"429", "over_capacity"}:
            return self._with_retry_after(self._error(429, "too many requests"))
        if mishap in {"500", "503"}:
            failed = self._error(int(mishap), "the service failed")
            return self._with_retry_after(failed) if mishap == "503" else failed
        ways: dict[str, Callable[[ASGIApp], ASGIApp]] = {
            "reset": _reset,
            "truncated": _truncated,
            "content_type": _called_html,
            "slow": self._slow,
            "drip": self._dripped,
            "error": _saying(_error_of),
            "same": _saying(self._same_as_first),
            "unreadable": _saying(lambda _asked, _body: b"<html>back soon</html>"),
            "no_id": _saying(lambda _asked, body: re.sub(rb'"id":\s*\d+,?', b"", body, count=1)),
            "empty": _saying(lambda _asked, _body: b"[]"),
        }
        return ways[mishap](app)

    def _same_as_first(self, _asked: str, body: bytes) -> bytes:
        self._same = self._same or body
        return self._same

    def _with_retry_after(self, app: ASGIApp) -> ASGIApp:
        """Add Retry-After, if configured."""
        seconds = self.trouble.retry_after
        if seconds is None:
            return app
        when = f"{seconds:g}"
        if self.trouble.retry_after_date:
            when = email.utils.formatdate(math.ceil(time.time() + seconds), usegmt=True)

        async def telling(scope: Scope, receive: Receive, send: Send) -> None:
            async def add(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message["headers"], (b"retry-after", when.encode())]}
                await send(message)

            await app(scope, receive, add)

        return telling

    def _slow(self, app: ASGIApp) -> ASGIApp:
        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            await asyncio.sleep(self.trouble.slow_seconds)
            await app(scope, receive, send)

        return slow

    def _dripped(self, app: ASGIApp) -> ASGIApp:
        async def dripped(scope: Scope, receive: Receive, send: Send) -> None:
            start, body = await _heard(app, scope, receive)
            await send(start)
            gone = asyncio.ensure_future(_gone(receive))
            for place in range(len(body)):
                await send(_part(body[place : place + 1], more=True))
                await asyncio.wait([gone], timeout=self.trouble.drip_seconds)
                if gone.done():
                    return
            gone.cancel()
            await send(_part(b"", more=False))

        return dripped


async def _heard(app: ASGIApp, scope: Scope, receive: Receive) -> tuple[Message, bytes]:
    """Return what an application says: the start of its answer, and its body."""
    said: list[Message] = []

    async def listen(message: Message) -> None:
        said.append(message)

    await app(scope, receive, listen)
    return said[0], b"".join(message.get("body", b"") for message in said[1:])


def _reset(_app: ASGIApp) -> ASGIApp:
    async def reset(scope: Scope, receive: Receive, _send: Send) -> None:
        reset_connection(_client(scope))
        await _gone(receive)

    return reset


def _truncated(app: ASGIApp) -> ASGIApp:
    async def truncated(scope: Scope, receive: Receive, send: Send) -> None:
        start, body = await _heard(app, scope, receive)
        await send(start)
        await send(_part(body[: len(body) // 2], more=True))
        await asyncio.sleep(_FLUSH_SECONDS)
        hang_up(_client(scope))
        await _gone(receive)

    return truncated


def _called_html(app: ASGIApp) -> ASGIApp:
    async def called_html(scope: Scope, receive: Receive, send: Send) -> None:
        start, body = await _heard(app, scope, receive)
        headers = [(name, value) for name, value in start["headers"] if name != b"content-type"]
        await send({**start, "headers": [*headers, (b"content-type", b"text/html; charset=utf-8")]})
        await send(_part(body, more=False))

    return called_html


def _error_of(asked: str, _body: bytes) -> bytes:
    return b'{"error":{"code":"not_found","message":"nothing under %s"}}' % asked.encode()


def _saying(say: Callable[[str, bytes], bytes]) -> Callable[[ASGIApp], ASGIApp]:
    """Return what answers with status 200 as usual, but with another body, made of the request and the right one."""

    def instead(app: ASGIApp) -> ASGIApp:
        async def saying(scope: Scope, receive: Receive, send: Send) -> None:
            start, body = await _heard(app, scope, receive)
            if start["status"] == 200:
                body = say(str(scope.get("path_params", {}).get("id", "")), body)
            headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
            await send({**start, "headers": [*headers, (b"content-length", b"%d" % len(body))]})
            await send(_part(body, more=False))

        return saying

    return instead


def _part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _client(scope: Scope) -> tuple[str, int]:
    host, port = scope["client"]
    return host, int(port)  # the server gives text


async def _gone(receive: Receive) -> Any:
    """Wait until the client is gone, but not for ever."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GONE_SECONDS):
            while (await receive())["type"] != "http.disconnect":
                pass


_NO_LINGER = struct.pack("ii", 1, 0)


def reset_connection(client: tuple[str, int]) -> None:
    """End the connection with this client by a TCP reset."""

    def end(connection: socket.socket) -> None:
        # The server sees the end of its input, and closes; without lingering that is a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.shutdown(socket.SHUT_RD)

    _find(client, end)


def hang_up(client: tuple[str, int]) -> None:
    """End the connection with this client, whatever was still to be said."""
    _find(client, lambda connection: connection.shutdown(socket.SHUT_RDWR))


def _find(client: tuple[str, int], end: Callable[[socket.socket], None]) -> None:
    """Call `end` with our side of the connection with this client; do nothing when it is gone."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers, not paths
        with contextlib.suppress(OSError):  # gone meanwhile, or without a peer
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    if connection.getpeername()[:2] == client:
                        end(connection)
                        return


class Record:
    """All requests since the start, or since `clear`, except those to the control API."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._since = self._began = time.monotonic()
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

        `tries` counts requests by operation and id (or query), `mishaps` lists (operation, id, attempt) by fault,
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
