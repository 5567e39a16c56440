"""The client of the partner service: one connection pool, one token, one pace.

Knows nothing of what a document means, and keeps nothing on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from pipelines.partner.answers import Answer, Failed, Fetched, Trouble
from pipelines.partner.clock import Clock
from pipelines.partner.errors import (
    AuthenticationFailed,
    PartnerMisconfigured,
    RequestFailed,
    ServiceDown,
    TokenRefused,
)
from pipelines.partner.exchange import exchange
from pipelines.partner.listing import pages
from pipelines.partner.pace import Pace
from pipelines.partner.retry import RetryBudget, full_jitter
from pipelines.partner.token import Tokens, authenticate_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.partner.answers import Kind
    from pipelines.partner.token import Token
    from pipelines.settings import Partner

_TOKEN_BYTES = 1_048_576
_PAGE_BYTES = 67_108_864
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class Asked:
    """How one request ended, after how many tries."""

    outcome: Answer | Trouble
    tries: int


class PartnerClient:
    """Asks the partner service; an async context manager.

    Reads a body to just above `max_bytes` and no further. `transport` replaces the network.
    """

    def __init__(
        self,
        partner: Partner,
        *,
        max_bytes: int = 5_242_880,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.max_in_flight = partner.max_in_flight
        self._partner = partner
        self._max_bytes = max_bytes
        self._clock = clock or Clock()
        self._origin = _origin(partner.base_url)
        self._transport = transport
        self._pace = Pace(partner.max_in_flight)
        self._budget = RetryBudget()
        self._tokens = Tokens(partner, self._clock, self._ask_for_token)
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        timeout = self._partner.timeout_seconds
        self._http = httpx.AsyncClient(
            transport=self._transport or _network(self._partner),
            timeout=httpx.Timeout(timeout, connect=self._partner.connect_timeout_seconds, pool=None),
            headers={"Accept": "application/json", "Accept-Encoding": "gzip"},
            follow_redirects=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def order(self, id_: int) -> Fetched:
        """Return the order (interface section 4.5); raise RequestFailed or RunStopped."""
        return await self.fetch("orders", id_)

    async def menu(self, id_: int) -> Fetched:
        """Return the menu (interface section 4.4); raise RequestFailed or RunStopped."""
        return await self.fetch("menus", id_)

    async def store(self, id_: int) -> Fetched:
        """Return the store (interface section 4.3); raise RequestFailed or RunStopped."""
        return await self.fetch("stores", id_)

    async def fetch(self, kind: Kind, id_: int) -> Fetched:
        """Return the document of `kind` and `id_`: status 200, or 404 where there is none.

        Raises RequestFailed when its tries are used up, RunStopped when all asking is over.
        """
        asked = await self._ask(self._url(kind, id_), limit=self._max_bytes)
        end, at = asked.outcome, self._clock.now()
        if isinstance(end, Trouble):
            raise RequestFailed(
                Failed(
                    kind=kind,
                    id=id_,
                    code=end.code,
                    reason=end.reason,
                    status=end.status,
                    fetched_at=at,
                    ms=end.ms,
                    bytes=end.bytes,
                    tries=asked.tries,
                )
            )
        return Fetched(
            kind=kind,
            id=id_,
            status=end.status,
            body=end.body,
            fetched_at=at,
            ms=end.ms,
            bytes=len(end.body),
            tries=asked.tries,
            oversize=end.oversize,
            headers=end.headers,
        )

    async def list_stores(self) -> AsyncIterator[list[bytes]]:
        """Yield the stores page by page (interface section 4.2), each record as its own JSON text.

        Raises ListingBroken where the list is not what [partner.list_stores] says.
        """
        async for page in pages(self._partner, self._page):
            yield page

    def _url(self, kind: Kind, id_: int) -> str:
        partner = self._partner
        if kind == "orders":
            path = partner.order.path.replace("{id}", str(int(id_)))
        elif kind == "menus":
            path = partner.menu.path.replace("{menu_id}", str(int(id_)))
        else:
            path = partner.store.path.replace("{store_id}", str(int(id_)))
        return self._origin + path

    async def _page(self, url: str) -> Answer | Trouble:
        return (await self._ask(url, limit=_PAGE_BYTES)).outcome

    async def _ask(self, url: str, *, limit: int) -> Asked:
        """Ask until there is an answer or trying again is of no use."""
        self._budget.first_try()
        tries = 0
        refused_at: float | None = None
        broken: bytes | None = None
        while True:
            token = await self._tokens.current()
            async with self._pace:
                outcome = await self._send(self._request(url, token), limit)
            tries += 1
            if isinstance(outcome, Answer):
                if outcome.status != _UNAUTHORIZED:
                    return Asked(outcome, tries)
                if refused_at is not None and token.obtained_at >= refused_at:
                    raise TokenRefused(
                        "the service refuses a token that it gave a moment ago (401 again): are the "
                        "credentials allowed to read this, and [partner.authenticate] header and "
                        "scheme right?"
                    )
                refused_at = self._clock.monotonic()
                self._tokens.refused(token)
                continue
            if outcome.body is not None and outcome.body == broken:
                # Twice the same: that is what the service says, and the gate's to judge.
                return Asked(Answer(status=200, body=outcome.body, ms=outcome.ms), tries)
            broken = outcome.body
            if not outcome.transient or tries >= self._partner.max_tries:
                return Asked(outcome, tries)
            if not self._budget.take():
                return Asked(outcome, tries)
            await self._wait(outcome, tries)

    async def _ask_for_token(self) -> bytes:
        tries = 0
        while True:
            outcome = await self._send(authenticate_request(self._open(), self._partner), _TOKEN_BYTES)
            tries += 1
            path = self._partner.authenticate.path
            if isinstance(outcome, Answer):
                if outcome.status in (200, 201):
                    return outcome.body
                raise AuthenticationFailed(_refusal(path, outcome.status))
            if not outcome.transient:
                raise AuthenticationFailed(f"{path}: {outcome.reason}")
            if tries >= self._partner.max_tries:
                raise ServiceDown(f"no token after {tries} tries of {path}: {outcome.reason}")
            await self._wait(outcome, tries)

    async def _wait(self, trouble: Trouble, tries: int) -> None:
        seconds = full_jitter(tries, self._clock.random())
        if trouble.retry_after is not None:
            cap = self._partner.retry_after_cap_seconds
            seconds += min(trouble.retry_after, cap)
        await self._clock.sleep(seconds)

    async def _send(self, request: httpx.Request, limit: int) -> Answer | Trouble:
        timeout = self._partner.timeout_seconds
        return await exchange(self._open(), request, limit=limit, seconds=timeout, clock=self._clock)

    def _request(self, url: str, token: Token) -> httpx.Request:
        header = self._partner.authenticate.header
        return self._open().build_request("GET", url, headers={header: token.header_value.reveal()})

    def _open(self) -> httpx.AsyncClient:
        if self._http is None:
            raise RuntimeError("PartnerClient is used inside `async with` only")
        return self._http


def _refusal(path: str, status: int) -> str:
    if status == _UNAUTHORIZED:
        return f"{path} answers 401: are client_id and client_secret right?"
    return f"{path} answers {status}: is [partner.authenticate] path right?"


def _origin(base_url: str) -> str:
    url = httpx.URL(base_url)
    if url.userinfo:
        raise PartnerMisconfigured("[partner] base_url: credentials do not belong into the address")
    return base_url.rstrip("/")


def _network(partner: Partner) -> httpx.AsyncBaseTransport:
    context = httpx.create_ssl_context()

    def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            # One more than the pace allows, for the token.
            connector=aiohttp.TCPConnector(limit=partner.max_in_flight + 1, ssl=context),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    return AiohttpTransport(verify=context, client=session)
