"""The stand-in's HTTP face: interface sections 4 and 5 over a world, and a control desk for tests.

What the interface does not show (paths of authenticate and stores, bodies of errors) is answered here in one way of
many. Faults of the connection are not made here: they wrap this application as ASGI middleware.
"""

from __future__ import annotations

import collections
import datetime as dt
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from pipelines.sandbox.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.middleware import Middleware
    from starlette.requests import Request

    from pipelines.sandbox.world import World

ROOT = "/v1/partner_developers"
# The longest text that can be a 64-bit id.
_ID_DIGITS = 19


class Service:
    """A world at a time: the answers that the service would give then, orders kept encoded."""

    def __init__(self, world: World, *, client_id: str, client_secret: str, token_life_seconds: int = 3600) -> None:
        secret = hashlib.sha256(f"sandbox/{world.config.seed}/{client_secret}".encode()).digest()
        self.world = world
        self.tokens = Tokens(secret, token_life_seconds)
        self.now = world.end
        self.served: collections.Counter[str] = collections.Counter()
        self._credentials = (client_id, client_secret)
        self._settled: dict[int, tuple[int, bytes]] = {
            order_id: (settled, body) for order_id, settled, body in world.orders()
        }
        self._menus: dict[tuple[int, dt.datetime], bytes | None] = {}

    def knows(self, credentials: tuple[Any, Any]) -> bool:
        """Tell whether these are the client's id and secret."""
        return credentials == self._credentials

    def order(self, order_id: int) -> bytes | None:
        """Return the order as it stands now."""
        kept = self._settled.get(order_id)
        if kept is None:
            return None
        return kept[1] if kept[0] <= self.now.timestamp() else self.world.order(order_id, self.now)

    def menu(self, menu_id: int) -> bytes | None:
        """Return the menu as it stands now."""
        key = (menu_id, self.now)
        if key not in self._menus:
            self._menus[key] = self.world.menu(menu_id, self.now)
        return self._menus[key]

    def store(self, store_id: int) -> bytes | None:
        """Return the store record as it stands now."""
        return self.world.store(store_id, self.now)

    def move(self, now: dt.datetime) -> None:
        """Set the clock."""
        self.now = now
        self._menus.clear()


def make_app(service: Service, middleware: Sequence[Middleware] = ()) -> Starlette:
    """Return the ASGI application; `middleware` may spoil what it says, outermost first."""
    routes = [
        Route(f"{ROOT}/authenticate", _authenticate, methods=["POST"]),
        Route(f"{ROOT}/orders/{{id}}", _reader("orders", service.order)),
        Route(f"{ROOT}/menus/{{id}}", _reader("menus", service.menu)),
        Route(f"{ROOT}/stores/{{id}}", _reader("stores", service.store)),
        Route(f"{ROOT}/stores", _list_stores),
        Route("/_sandbox/clock", _clock, methods=["GET", "POST"]),
        Route("/_sandbox/served", _served),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    app.state.service = service
    return app


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


def _answer(service: Service, operation: str, body: bytes | None) -> Response:
    if body is None:
        service.served[f"{operation} 404"] += 1
        return _json(b'{"error":"record not found"}', 404)
    service.served[f"{operation} 200"] += 1
    return _json(body)


def _stranger(request: Request, operation: str) -> Response | None:
    """Return a refusal unless the request has a valid token."""
    service: Service = request.app.state.service
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and service.tokens.valid(token):
        return None
    service.served[f"{operation} 401"] += 1
    return _json(b'{"error":"invalid or missing token"}', 401, {"WWW-Authenticate": "Bearer"})


def _reader(operation: str, read: Callable[[int], bytes | None]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        refusal = _stranger(request, operation)
        if refusal is not None:
            return refusal
        text = request.path_params["id"]
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= _ID_DIGITS else None
        return _answer(request.app.state.service, operation, None if number is None else read(number))

    return endpoint


async def _list_stores(request: Request) -> Response:
    service: Service = request.app.state.service
    refusal = _stranger(request, "store_list")
    return refusal or _answer(service, "store_list", service.world.store_list(service.now))


async def _authenticate(request: Request) -> Response:
    service: Service = request.app.state.service
    try:
        body = msgspec.json.decode(await request.body())
        credentials = (body["client_id"], body["client_secret"])
    except (msgspec.DecodeError, KeyError, TypeError):
        service.served["authenticate 400"] += 1
        return _json(b'{"error":"client_id and client_secret are needed"}', 400)
    if not service.knows(credentials):
        service.served["authenticate 401"] += 1
        return _json(b'{"error":"unknown client"}', 401)
    service.served["authenticate 200"] += 1
    token = service.tokens.issue(credentials[0])
    return _json(msgspec.json.encode({"access_token": token, "expires_in": service.tokens.life_seconds}))


async def _clock(request: Request) -> Response:
    """Show the clock, or move it: no token needed, this desk is not part of the service."""
    service: Service = request.app.state.service
    if request.method == "POST":
        try:
            now = dt.datetime.fromisoformat(msgspec.json.decode(await request.body())["now"])
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            return _json(b'{"error":"now must be an ISO 8601 time"}', 400)
        service.move(now if now.tzinfo else now.replace(tzinfo=dt.UTC))
    world = service.world
    return _json(msgspec.json.encode({"now": service.now, "start": world.start, "end": world.end}))


async def _served(request: Request) -> Response:
    """Show how many answers were given, by operation and status."""
    return _json(msgspec.json.encode(dict(request.app.state.service.served)))
