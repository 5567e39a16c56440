"""The client of the partner service: its operations and their results, and many fetches at once."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Self

import httpx

from pipelines.partner.answers import Behaviour, Failed, Fetched, RequestError, RequestFailed
from pipelines.partner.listing import Listing
from pipelines.partner.pacing import Clock
from pipelines.partner.pointer import parse, raw_at
from pipelines.partner.request_loop import RequestLoop
from pipelines.settings.kinds import ENTITIES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from pipelines.partner.answers import Answer
    from pipelines.settings import Partner
    from pipelines.settings.kinds import Kind


_PAGE_BYTES = 67_108_864
_ID = re.compile(r"\{\w+\}")  # in a path of settings


class PartnerClient:
    """Sends requests to the partner service; an async context manager, for one run.

    It uses httpx's transport directly: AsyncClient keeps cookies, follows redirects and logs addresses, which must not
    happen here, and more than halves the requests per second. Reads a body to just above `max_bytes`. Redirects are
    errors: the token is sent to base_url only. `fields` names the fields of each kind of document: a body that has none
    of them, or comes for several ids, is then a fault of the service, as long as it may pass. `transport` replaces the
    network, `clock` time and randomness. `behaviour` counts the observed behaviour of the service.
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
        self._max_bytes = max_bytes
        self._fields = fields
        self._clock = clock or Clock()
        self._network = transport
        self._loop: RequestLoop | None = None

    async def __aenter__(self) -> Self:
        if self._network is None:
            self._network = network_of(self._partner)
        self._loop = RequestLoop(self._partner, self._network, self._clock, self.behaviour, self._fields)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._network is not None:
            await self._network.aclose()
        self._network = self._loop = None

    async def fetch(self, kind: Kind, id_: int) -> Fetched:
        """Return the document of `kind` and `id_`: status 200, or 404 if there is none.

        Raise RequestFailed if its attempts are used up or a retry cannot help, RunStopped if all requests are over.
        """
        result = await self._open().send(kind, self._url(kind, id_), limit=self._max_bytes)
        end, at = result.outcome, self._clock.now()
        if isinstance(end, RequestError):
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
                    attempts=result.attempts,
                    earlier=result.earlier,
                )
            )
        return Fetched(
            kind=kind,
            id=id_,
            status=end.status,
            body=self._record(end.body) if kind == "stores" else end.body,
            fetched_at=at,
            ms=end.ms,
            bytes=len(end.body),
            attempts=result.attempts,
            earlier=result.earlier,
            oversize=end.oversize,
            headers=end.headers,
        )

    async def list_stores(self) -> AsyncGenerator[list[bytes]]:
        """Yield the stores page by page (interface section 4.2), each record as its own JSON text.

        Raise ListingBroken if the list does not match [partner.list_stores] or cannot be read.
        """
        async for page in Listing(self._partner, self._page, self._clock).pages():
            yield page

    def _record(self, body: bytes) -> bytes:
        """Return the store's record in its envelope; the body as it is if there is none, which validation rejects."""
        pointer = self._partner.store.record_pointer
        found = raw_at(body, parse(pointer)) if pointer else None
        return body if found is None else bytes(found)

    def _url(self, kind: Kind, id_: int) -> str:
        path: str = getattr(self._partner, ENTITIES[kind]).path
        return self._partner.base_url.rstrip("/") + _ID.sub(str(int(id_)), path)

    async def _page(self, url: str) -> Answer | RequestError:
        return (await self._open().send("store list", url, limit=_PAGE_BYTES)).outcome

    def _open(self) -> RequestLoop:
        if self._loop is None:
            raise RuntimeError("use PartnerClient inside `async with`")
        return self._loop


def network_of(partner: Partner) -> httpx.AsyncBaseTransport:
    """Return the network of a run: a pool of connections without cookies and retries of its own."""
    import aiohttp  # noqa: PLC0415 -- slow, and a run that requests nothing needs none
    from httpx_aiohttp import AiohttpTransport  # noqa: PLC0415 -- the same

    context = httpx.create_ssl_context()

    def session() -> aiohttp.ClientSession:
        opened = aiohttp.ClientSession(
            # One more than the limit, for the token.
            connector=aiohttp.TCPConnector(limit=partner.max_concurrency + 1, ssl=context),
            # A cookie is a credential too: none is kept.
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        # aiohttp repeats a lost GET by itself, which would double the requests of an outage.
        opened._retry_connection = False  # noqa: SLF001
        return opened

    return AiohttpTransport(verify=context, client=session)


async def fetch_all(client: PartnerClient, kind: Kind, ids: Iterable[int]) -> AsyncGenerator[Fetched | Failed]:
    """Yield one Fetched or Failed for each of `ids`, in the order of completion.

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
            answer: Fetched | Failed
            try:
                answer = task.result()
            except RequestFailed as error:
                answer = error.failed
            start_next()
            yield answer
    finally:
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
