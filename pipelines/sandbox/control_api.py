"""The control API for tests below /_sandbox: the world's clock, faults, webhooks and the record. It needs no token.

    GET, POST /_sandbox/clock      {"now": …}; moving it forward sends webhooks for the events in between
    GET, POST /_sandbox/faults     the flags of Trouble; omitted ones are off
    GET, POST /_sandbox/webhooks   the flags of Webhooks
    GET, DELETE /_sandbox/served   requests, responses, injected faults and webhooks; DELETE clears them
    POST /_sandbox/revoke          invalidate every token issued so far

It is not part of the partner's interface.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.routing import Route

from pipelines.sandbox.dialects import json
from pipelines.sandbox.trouble import TroubleError, trouble
from pipelines.sandbox.webhooks import Sender, events, webhooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from pipelines.sandbox.app import Service
    from pipelines.sandbox.webhooks import Event


class ControlApi:
    """The control API of one service, and the sender of its webhooks."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.sender = Sender(service.world.config.seed, service.dialect.hint, self._sent)

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/_sandbox/clock", self._clock, methods=["GET", "POST"]),
            Route("/_sandbox/faults", self._faults, methods=["GET", "POST"]),
            Route("/_sandbox/webhooks", self._webhooks, methods=["GET", "POST"]),
            Route("/_sandbox/served", self._served, methods=["GET", "DELETE"]),
            Route("/_sandbox/revoke", self._revoke, methods=["POST"]),
        ]

    def _sent(self, event: Event) -> None:
        if event.topic == "orders.create":
            self._service.injector.announced(event.id)

    async def _clock(self, request: Request) -> Response:
        service, world = self._service, self._service.world
        told = 0
        if request.method == "POST":
            try:
                now = dt.datetime.fromisoformat(msgspec.json.decode(await request.body())["now"])
            except (msgspec.DecodeError, KeyError, TypeError, ValueError):
                return json(b'{"error":"now must be an ISO 8601 time"}', 400)
            now = now if now.tzinfo else now.replace(tzinfo=dt.UTC)
            before = int(service.now.timestamp())
            service.move(now)
            if self.sender.webhooks.to:
                after = int(now.timestamp())
                told = self.sender.send(events(world, before, after, service.unsettled(before)))
        shown = {"now": service.now, "start": world.start, "end": world.end, "webhooks": told}
        return json(msgspec.json.encode(shown))

    async def _faults(self, request: Request) -> Response:
        return await _flags(
            request,
            lambda flags: self._service.set_faults(trouble(flags)),
            lambda: self._service.injector.trouble,
        )

    async def _webhooks(self, request: Request) -> Response:
        return await _flags(
            request,
            lambda flags: self.sender.use(webhooks(flags)),
            lambda: self.sender.webhooks,
        )

    async def _served(self, request: Request) -> Response:
        record = self._service.injector.record
        if request.method == "DELETE":
            record.clear()
            self.sender.clear()
        return json(msgspec.json.encode({**record.shown(), "webhooks": self.sender.shown()}))

    async def _revoke(self, _request: Request) -> Response:
        self._service.tokens.revoke()
        return json(b"{}")


async def _flags(request: Request, post: Callable[[dict[str, Any]], None], get: Callable[[], Any]) -> Response:
    if request.method == "POST":
        try:
            post(msgspec.json.decode(await request.body(), type=dict[str, Any]))
        except (msgspec.DecodeError, TroubleError) as error:
            return json(msgspec.json.encode({"error": str(error)}), 400)
    return json(msgspec.json.encode(get()))
