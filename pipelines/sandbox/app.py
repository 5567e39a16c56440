"""The sandbox's HTTP application: interface sections 4 and 5 over a world, in a dialect; and its access tokens.

Details that the interface leaves open (paths of authenticate and stores, bodies of errors) are those of a dialect.
Service faults are injected by `fault_injection`; tests control the sandbox through `control_api`.
"""

from __future__ import annotations

import base64
import binascii
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
from pipelines.sandbox.fault_injection import FaultInjector

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from pipelines.sandbox.trouble import Trouble
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
        self.injector = FaultInjector(world.config.seed, self.dialect.error)
        self.now = world.end
        self._token_life_seconds = token_life_seconds
        self._credentials = (client_id, client_secret)
        self._settled: dict[int, tuple[int, bytes]] = {
            order_id: (settled, body) for order_id, settled, body in world.orders()
        }
        self._menus: dict[tuple[int, dt.datetime], bytes | None] = {}

    def knows(self, credentials: tuple[Any, Any]) -> bool:
        """Return whether these are the client's id and secret."""
        return credentials == self._credentials

    def accepts(self, token: str) -> bool:
        """Return whether a request with this token is answered."""
        if self.dialect.is_secret_the_token:
            return token == self._credentials[1]
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
        self.injector.set(trouble, self.tokens.revoke)


def make_app(service: Service, middleware: Sequence[Middleware] = (), control: Sequence[Route] = ()) -> Starlette:
    """Return the ASGI application; `middleware` wraps it, outermost first; `control` adds routes of the control API."""
    dialect = service.dialect
    operations = [
        ("authenticate", dialect.authenticate, _authenticate(service)),
        ("orders", dialect.order, _reader(service, service.order)),
        ("menus", dialect.menu, _reader(service, service.menu)),
        ("stores", dialect.store, _reader(service, service.store)),
        ("store_list", dialect.store_list, _store_list(service)),
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
    return Starlette(routes=[*routes, *control], middleware=middleware)


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


def _store_list(service: Service) -> Callable[[Request], Awaitable[Response]]:
    def answer(request: Request) -> Response:
        page = service.dialect.stores(service.stores(), request.query_params)
        return service.dialect.error(404, "no such page") if page is None else page

    return _guarded(service, answer)


def _authenticate(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        credentials = service.dialect.credentials(await request.body(), request.headers)
        if credentials is None:
            return service.dialect.error(400, f"{service.dialect.credential_names} are needed")
        if not service.knows(credentials):
            return service.dialect.error(401, "unknown client")
        return service.dialect.grant(service.tokens.issue(credentials[0]), service.tokens.life_seconds)

    return endpoint


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Tokens:
    """Tokens of one secret, each good for `life_seconds` from its issue."""

    def __init__(self, secret: bytes, life_seconds: int = 3600, now: Callable[[], float] = time.time) -> None:
        self.life_seconds = life_seconds
        self._secret = secret
        self._now = now
        self._serial = 0
        self._revoked = 0
        self._known: dict[str, float] = {}

    def issue(self, subject: str) -> str:
        """Return a new token; no two are equal."""
        self._serial += 1
        issued = int(self._now())
        head = {"alg": "HS256", "typ": "JWT"}
        claims = {"sub": subject, "iat": issued, "exp": issued + self.life_seconds, "jti": str(self._serial)}
        signed = ".".join(_text(msgspec.json.encode(part)) for part in (head, claims))
        return f"{signed}.{_text(self._sign(signed))}"

    def valid(self, token: str) -> bool:
        """Tell whether the token is ours and has not expired."""
        expires = self._known.get(token)
        if expires is None:
            expires = self._expiry(token)
            if expires is None:
                return False
            self._known[token] = expires
        return self._now() < expires

    def revoke(self) -> None:
        """Refuse every token issued so far."""
        self._revoked = self._serial
        self._known.clear()

    def _sign(self, signed: str) -> bytes:
        return hmac.new(self._secret, signed.encode(), hashlib.sha256).digest()

    def _expiry(self, token: str) -> float | None:
        try:
            signed, _, signature = token.rpartition(".")
            head, _, claims = signed.partition(".")
            if not hmac.compare_digest(self._sign(signed), _raw(signature)):
                return None
            if msgspec.json.decode(_raw(head)).get("alg") != "HS256":
                return None
            read = msgspec.json.decode(_raw(claims))
            return float(read["exp"]) if int(read["jti"]) > self._revoked else None
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
            return None
