"""The HTTP application of the sandbox: interface sections 4 and 5 over a world, in a dialect; access tokens; control.

Details that the interface leaves open (paths of authenticate and stores, bodies of errors) are those of a dialect.
Service faults are injected by `fault_injection`. Tests control the sandbox below /_sandbox, which needs no token and is
not part of the interface:

    GET, POST /_sandbox/clock      {"now": …}; moving it forward sends webhooks for the events in between
    GET, POST /_sandbox/faults     the flags of Trouble; omitted ones are off
    GET, POST /_sandbox/webhooks   the flags of Webhooks
    GET, DELETE /_sandbox/served   requests, responses, injected faults and webhooks; DELETE clears them
    POST /_sandbox/revoke          invalidate every token issued so far
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from pipelines.sandbox.dialects import Dialect, json
from pipelines.sandbox.fault_injection import FaultInjector, TroubleError, trouble
from pipelines.sandbox.webhooks import Sender, events, webhooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from pipelines.sandbox.fault_injection import Trouble
    from pipelines.sandbox.webhooks import Event
    from pipelines.sandbox.world import World

# The longest text that can be a 64-bit id.
_ID_DIGITS = 19


class Service:
    """A world at a moment: the documents as they are then, with encoded orders cached."""

    def __init__(
        self,
        world: World,
        *,
        client_id: str,
        client_secret: str,
        token_life_seconds: int = 3600,
        dialect: Dialect | None = None,
    ) -> None:
        secret = hashlib.sha256(f"sandbox/{world.config.seed}/{client_secret}".encode()).digest()
        self.world = world
        self.dialect = dialect or Dialect()
        self.tokens = Tokens(secret, token_life_seconds)
        self.injector = FaultInjector(world.config.seed, self.dialect.error, self.tokens.revoke)
        self.now = world.end
        self.sender = Sender(world.config.seed, self.dialect.hint, self._sent)
        self._token_life_seconds = token_life_seconds
        self.credentials = (client_id, client_secret)
        self._settled: dict[int, tuple[int, bytes]] = {
            order_id: (settled, body) for order_id, settled, body in world.orders()
        }
        self._menus: dict[tuple[int, dt.datetime], bytes | None] = {}

    def accepts(self, token: str) -> bool:
        """Return whether a request with this token is answered."""
        if self.dialect.is_secret_the_token:
            return token == self.credentials[1]
        return self.tokens.valid(token)

    def order(self, order_id: int) -> bytes | None:
        """Return the order as it is now."""
        kept = self._settled.get(order_id)
        if kept is None:
            return None
        return kept[1] if kept[0] <= self.now.timestamp() else self.world.order(order_id, self.now)

    def unsettled(self, since: int) -> list[int]:
        """Return the ids of orders that are placed or change after this moment."""
        return [order_id for order_id, (settled, _) in self._settled.items() if settled > since]

    def menu(self, menu_id: int) -> bytes | None:
        """Return the menu as it is now."""
        key = (menu_id, self.now)
        if key not in self._menus:
            self._menus[key] = self.world.menu(menu_id, self.now)
        return self._menus[key]

    def store(self, store_id: int) -> bytes | None:
        """Return the store record as it is now."""
        record = self.world.store(store_id, self.now)
        return None if record is None else self.dialect.details(self.dialect.store_record(record))

    def stores(self) -> list[bytes]:
        """Return all stores' records as they are now."""
        found = (self.world.store(store_id, self.now) for store_id in self.world.store_ids)
        return [record for record in found if record is not None]

    def move(self, now: dt.datetime) -> None:
        """Set the clock."""
        self.now = now
        self._menus.clear()

    def set_faults(self, trouble: Trouble) -> None:
        """Replace the service faults."""
        life = trouble.token_life_seconds
        self.tokens.life_seconds = self._token_life_seconds if life is None else life
        self.injector.set(trouble)

    def _sent(self, event: Event) -> None:
        if event.topic == "orders.create":
            self.injector.announced(event.id)


def make_app(service: Service, middleware: Sequence[Middleware] = ()) -> Starlette:
    """Return the ASGI application, with the control API; `middleware` wraps it, outermost first."""
    dialect = service.dialect
    operations = [
        ("authenticate", dialect.authenticate, _authenticate(service)),
        ("orders", dialect.order, _reader(service, service.order)),
        ("menus", dialect.menu, _reader(service, service.menu)),
        ("stores", dialect.store, _reader(service, service.store)),
        ("store_list", dialect.store_list, _guarded(service, partial(_store_list, service))),
    ]
    routes = [
        Route(
            dialect.prefix + path,
            endpoint,
            methods=["POST" if name == "authenticate" else "GET"],
            middleware=[Middleware(partial(service.injector.around, name))],
        )
        for name, path, endpoint in operations
    ]
    return Starlette(routes=[*routes, *_control_api(service)], middleware=middleware)


def _guarded(service: Service, answer: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that answers requests with a valid token."""

    async def endpoint(request: Request) -> Response:
        if not service.accepts(service.dialect.token(request.headers.get("authorization", ""))):
            return service.dialect.error(401, "invalid or missing token")
        return answer(request)

    return endpoint


def _reader(service: Service, read: Callable[[int], bytes | None]) -> Callable[[Request], Awaitable[Response]]:
    def answer(request: Request) -> Response:
        text = request.path_params["id"]
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= _ID_DIGITS else None
        body = None if number is None else read(number)
        return service.dialect.error(404, "record not found") if body is None else json(body)

    return _guarded(service, answer)


def _store_list(service: Service, request: Request) -> Response:
    try:
        return service.dialect.stores(service.stores(), request.query_params)
    except ValueError:
        return service.dialect.error(404, "no such page")


def _authenticate(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        credentials = service.dialect.credentials(await request.body(), request.headers)
        if credentials is None:
            return service.dialect.error(400, f"{service.dialect.credential_names} are needed")
        if credentials != service.credentials:
            return service.dialect.error(401, "unknown client")
        return service.dialect.grant(service.tokens.issue(credentials[0]), service.tokens.life_seconds)

    return endpoint


class Tokens:
    """Tokens of one secret, each good for `life_seconds` from its issue."""

    def __init__(self, secret: bytes, life_seconds: int = 3600, now: Callable[[], float] = time.time) -> None:
        self.life_seconds = life_seconds
        self._secret, self._now = secret, now
        self._serial = 0
        self._issued: dict[str, int] = {}  # the tokens that are not revoked, with when they expire

    def issue(self, subject: str) -> str:
        """Return a new token; no two are equal."""
        self._serial += 1
        issued = int(self._now())
        head = {"alg": "HS256", "typ": "JWT"}
        claims = {"sub": subject, "iat": issued, "exp": issued + self.life_seconds, "jti": str(self._serial)}
        signed = ".".join(_base64(msgspec.json.encode(part)) for part in (head, claims))
        token = f"{signed}.{_base64(hmac.digest(self._secret, signed.encode(), 'sha256'))}"
        self._issued[token] = issued + self.life_seconds
        return token

    def valid(self, token: str) -> bool:
        """Tell whether the token is ours and has not expired."""
        return self._now() < self._issued.get(token, 0)

    def revoke(self) -> None:
        """Refuse every token issued so far."""
        self._issued.clear()


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _control_api(service: Service) -> list[Route]:
    """Return the routes below /_sandbox."""
    world, sender, record = service.world, service.sender, service.injector.record

    async def clock(request: Request) -> Response:
        told = 0
        if request.method == "POST":
            try:
                now = dt.datetime.fromisoformat(msgspec.json.decode(await request.body())["now"])
            except (msgspec.DecodeError, KeyError, TypeError, ValueError):
                return json(b'{"error":"now must be an ISO 8601 time"}', 400)
            now = now if now.tzinfo else now.replace(tzinfo=dt.UTC)
            before = int(service.now.timestamp())
            service.move(now)
            if sender.webhooks.to:
                told = sender.send(events(world, before, int(now.timestamp()), service.unsettled(before)))
        shown = {"now": service.now, "start": world.start, "end": world.end, "webhooks": told}
        return json(msgspec.json.encode(shown))

    async def served(request: Request) -> Response:
        if request.method == "DELETE":
            record.clear()
            sender.clear()
        return json(msgspec.json.encode({**record.shown(), "webhooks": sender.shown()}))

    async def revoke(_request: Request) -> Response:
        service.tokens.revoke()
        return json(b"{}")

    def send_with(flags: dict[str, Any]) -> None:
        sender.webhooks = webhooks(flags)

    faults = _flags(lambda flags: service.set_faults(trouble(flags)), lambda: service.injector.trouble)
    return [
        Route("/_sandbox/clock", clock, methods=["GET", "POST"]),
        Route("/_sandbox/faults", faults, methods=["GET", "POST"]),
        Route("/_sandbox/webhooks", _flags(send_with, lambda: sender.webhooks), methods=["GET", "POST"]),
        Route("/_sandbox/served", served, methods=["GET", "DELETE"]),
        Route("/_sandbox/revoke", revoke, methods=["POST"]),
    ]


def _flags(post: Callable[[dict[str, Any]], None], get: Callable[[], Any]) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that replaces flags, and shows those in force."""

    async def endpoint(request: Request) -> Response:
        if request.method == "POST":
            try:
                post(msgspec.json.decode(await request.body(), type=dict[str, Any]))
            except (msgspec.DecodeError, TroubleError) as error:
                return json(msgspec.json.encode({"error": str(error)}), 400)
        return json(msgspec.json.encode(get()))

    return endpoint
