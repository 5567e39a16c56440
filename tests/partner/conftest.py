"""The parts that tests of the client share: settings, time that jumps, a partner in memory, and one on a raw socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import selectors
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import pytest

from pipelines.partner.client import PartnerClient
from pipelines.partner.pacing import Clock
from pipelines.settings import Secret, load_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

    from pipelines.settings import Partner

AUTHENTICATE = "/v1/partner_developers/authenticate"
START = datetime(2026, 11, 20, 3, 15, tzinfo=UTC)


@pytest.fixture(scope="session")
def partner() -> Callable[..., Partner]:
    """Make [partner] settings: the defaults, with keys changed; a dict changes a table's keys."""
    defaults = load_settings(environ={}).partner

    def make(base_url: str = "http://partner.test", **changes: Any) -> Partner:
        for key, value in changes.items():
            if isinstance(value, dict):
                changes[key] = msgspec.structs.replace(getattr(defaults, key), **value)
        changes.setdefault("client_id", Secret("id"))
        changes.setdefault("client_secret", Secret("secret"))
        return msgspec.structs.replace(defaults, base_url=base_url, **changes)

    return make


class _JumpingSelector(selectors.DefaultSelector):
    """Passes waiting time without waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Give a ready result; with nothing ready, let the time pass at once."""
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("every task waits for another")
            self.time += timeout
        return ready


class _JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next thing due: an hour's test takes no time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the seconds that have passed."""
        return self._jumping.time


@pytest.fixture(scope="session")
def jump() -> Callable[[Callable[[Clock], Coroutine[Any, Any, Any]]], Any]:
    """Run a coroutine function of a Clock on time that jumps; return its result."""

    def run(main: Callable[[Clock], Coroutine[Any, Any, Any]]) -> Any:
        with asyncio.Runner(loop_factory=_JumpingLoop) as runner:
            loop = runner.get_loop()
            chance = random.Random(7)
            clock = Clock(
                monotonic=loop.time,
                sleep=asyncio.sleep,
                now=lambda: START + timedelta(seconds=loop.time()),
                random=chance.random,
            )
            return runner.run(main(clock))

    return run


class _Stream(httpx.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def _answer(status: int = 200, body: Any = None, **headers: str) -> httpx.Response:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers={"content-type": "application/json", **named}, stream=_Stream(raw))


@dataclass
class FakePartner:
    """A partner service in memory, behind httpx's own test seam; gives tokens t1, t2, … and counts."""

    serve: Callable[[httpx.Request], Awaitable[httpx.Response]]
    expires_in: float | None = 3600
    refuse: Callable[[str], bool] = lambda _: False
    refuse_after: float = 0.05
    seen: list[httpx.Request] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    tokens: int = 0
    most_at_once: int = 0
    _at_once: int = 0

    async def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        self.seen.append(request)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            response = await self._respond(request)
        finally:
            self._at_once -= 1
        self.statuses[response.status_code] += 1
        return response

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == AUTHENTICATE:
            self.tokens += 1
            await asyncio.sleep(0.05)
            return _answer(body={"access_token": f"t{self.tokens}", "expires_in": self.expires_in})
        if self.refuse(request.headers.get("authorization", "")):
            await asyncio.sleep(self.refuse_after)
            return _answer(401)
        return await self.serve(request)

    @property
    def asked(self) -> int:
        """How many requests came, but for those for a token."""
        return sum(request.url.path != AUTHENTICATE for request in self.seen)


@pytest.fixture(scope="session")
def answer() -> Callable[..., httpx.Response]:
    """Make an HTTP answer: status, body (bytes, or what becomes JSON), headers."""
    return _answer


@pytest.fixture(scope="session")
def fake() -> Callable[..., FakePartner]:
    """Make a partner service in memory that answers every id after 0.1 s; `serve` replaces its answers."""

    async def serve(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.1)
        return _answer(body={"id": int(request.url.path.rsplit("/", 1)[1])})

    def make(serve: Callable[[httpx.Request], Awaitable[httpx.Response]] = serve, **more: Any) -> FakePartner:
        return FakePartner(serve, **more)

    return make


@pytest.fixture(scope="session")
def client() -> Callable[..., PartnerClient]:
    """Make a client of a partner service in memory."""

    def make(settings: Partner, service: FakePartner, clock: Clock, **more: Any) -> PartnerClient:
        return PartnerClient(settings, transport=httpx.MockTransport(service.handle), clock=clock, **more)

    return make


@dataclass
class RawPartner:
    """A partner on a loopback socket that says, byte for byte, what a test wants."""

    base_url: str
    heads: list[bytes] = field(default_factory=list)

    def paths(self) -> list[str]:
        """Return the paths that were asked for, in order, the token's left out."""
        asked = [head.split(b" ", 2)[1].decode() for head in self.heads]
        return [path for path in asked if path != AUTHENTICATE]


@pytest.fixture(scope="session")
def raw_partner() -> Callable[..., contextlib.AbstractAsyncContextManager[RawPartner]]:
    """Serve a script: called with path and StreamWriter, it writes what it likes; the connection then closes."""
    token = b'{"access_token": "raw-token", "expires_in": 3600}'
    granted = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"

    @contextlib.asynccontextmanager
    async def serving(
        script: Callable[[str, asyncio.StreamWriter], Awaitable[None]],
    ) -> AsyncIterator[RawPartner]:
        connections: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                server.heads.append(head)
                path = head.split(b" ", 2)[1].decode()
                if path == AUTHENTICATE:
                    writer.write(granted % (len(token), token))
                else:
                    await script(path, writer)
                await writer.drain()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await serve(reader, writer)
            finally:
                connections.discard(task)

        listening = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        server = RawPartner(f"http://127.0.0.1:{port}")
        try:
            yield server
        finally:
            listening.close()
            await asyncio.wait_for(asyncio.gather(*connections), 10)

    return serving
