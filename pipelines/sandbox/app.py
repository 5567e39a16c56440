"""The HTTP application of the sandbox: interface sections 4 and 5 over a world; tokens; webhooks; control.

Details that the interface leaves open (paths of authenticate and stores, bodies of errors) are as ordermart.toml has
them. The clock and the webhooks are controlled below /_sandbox, which needs no token and is not part of the interface:

    GET, POST /_sandbox/clock      {"now": …}; moving it forward sends webhooks for the events in between
    GET, POST /_sandbox/webhooks   what became of those sent; POST: the fields of Webhooks, for those to come

Webhooks are signed, tried again, and at times lost, as seed decides.
"""

import asyncio
import datetime as dt
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated
from urllib.parse import urlsplit

import aiohttp
import msgspec
from standardwebhooks import Webhook
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pipelines.sandbox.rng import Rng
from pipelines.sandbox.world import Event, World
from pipelines.settings.contradictions import is_loopback

Shape = Callable[[str, int, str, str], tuple[dict[str, str], bytes]]

ROOT = "/v1/partner_developers"
_AT_ONCE = 4  # webhooks
_TRIES = 3  # of one that is not answered with 2xx
_TIMEOUT = aiohttp.ClientTimeout(total=10)
# The longest text that can be a 64-bit id.
_ID_DIGITS = 19


class Service:
    """A world at a moment: the documents as they are then, with encoded orders cached."""

    def __init__(self, world: World, credentials: tuple[str, str] = ("sandbox", "sandbox")) -> None:
        self.world = world
        self.tokens = IssuedTokens()
        self.now = world.end
        self.sender = Sender(world.config.seed)
        self.credentials = credentials
        self._settled: dict[int, tuple[int, bytes]] = {id_: (at, body) for id_, at, body in world.orders()}
        self._menus: dict[tuple[int, dt.datetime], bytes | None] = {}

    def order(self, order_id: int) -> bytes | None:
        """Return the order as it is now."""
        if (kept := self._settled.get(order_id)) is None:
            return None
        return kept[1] if kept[0] <= self.now.timestamp() else self.world.order(order_id, self.now)

    def menu(self, menu_id: int) -> bytes | None:
        """Return the menu as it is now."""
        key = (menu_id, self.now)
        if key not in self._menus:
            self._menus[key] = self.world.menu(menu_id, self.now)
        return self._menus[key]

    def move(self, now: dt.datetime) -> int:
        """Set the clock, and tell of the events in between; return how many webhooks this sends."""
        before, self.now = int(self.now.timestamp()), now
        self._menus.clear()
        if not self.sender.webhooks.to:
            return 0
        unsettled = [order_id for order_id, (settled, _) in self._settled.items() if settled > before]
        return self.sender.send(self.world.events(before, int(now.timestamp()), unsettled))


def make_app(service: Service) -> Starlette:
    """Return the ASGI application, with the control API."""
    routes = [
        Route(f"{ROOT}/authenticate", _authenticate(service), methods=["POST"]),
        Route(f"{ROOT}/orders/{{id}}", _reader(service, service.order)),
        Route(f"{ROOT}/menus/{{id}}", _reader(service, service.menu)),
        Route(f"{ROOT}/stores/{{id}}", _reader(service, lambda id_: service.world.store(id_, service.now))),
        Route(f"{ROOT}/stores", _guarded(service, lambda _: _json(service.world.store_list(service.now)))),
        Route("/_sandbox/clock", _clock(service), methods=["GET", "POST"]),
        Route("/_sandbox/webhooks", _webhooks(service), methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


def error(status: int, text: str) -> Response:
    """Return the answer of a status that is no success."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return _json(msgspec.json.encode({"error": text}), status, headers)


def _guarded(service: Service, answer: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that answers requests with a valid token."""

    async def endpoint(request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not service.tokens.valid(token):
            return error(401, "invalid or missing token")
        return answer(request)

    return endpoint


def _reader(service: Service, read: Callable[[int], bytes | None]) -> Callable[[Request], Awaitable[Response]]:
    def answer(request: Request) -> Response:
        text = request.path_params["id"]
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= _ID_DIGITS else None
        body = None if number is None else read(number)
        return error(404, "record not found") if body is None else _json(body)

    return _guarded(service, answer)


def _authenticate(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            read = msgspec.json.decode(await request.body())
            credentials = read["client_id"], read["client_secret"]
        except (msgspec.DecodeError, KeyError, TypeError):
            return error(400, "client_id and client_secret are needed")
        if credentials != service.credentials:
            return error(401, "unknown client")
        token = service.tokens.issue()
        return _json(msgspec.json.encode({"access_token": token, "expires_in": service.tokens.life_seconds}))

    return endpoint


class IssuedTokens:
    """Tokens, each good for `life_seconds` from its issue."""

    def __init__(self, life_seconds: int = 3600, now: Callable[[], float] = time.time) -> None:
        self.life_seconds, self._now = life_seconds, now
        self._expiry: dict[str, float] = {}

    def issue(self) -> str:
        """Return a new token."""
        token = secrets.token_urlsafe()
        self._expiry[token] = self._now() + self.life_seconds
        return token

    def valid(self, token: str) -> bool:
        """Tell whether the token is ours and has not expired."""
        return self._now() < self._expiry.get(token, 0)


def _clock(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        told = 0
        if request.method == "POST":
            try:
                now = dt.datetime.fromisoformat(msgspec.json.decode(await request.body())["now"])
            except (msgspec.DecodeError, KeyError, TypeError, ValueError):
                return error(400, "now must be an ISO 8601 time")
            told = service.move(now if now.tzinfo else now.replace(tzinfo=dt.UTC))
        world = service.world
        shown = {"now": service.now, "start": world.start, "end": world.end, "webhooks": told}
        return _json(msgspec.json.encode(shown))

    return endpoint


def _webhooks(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        if request.method == "POST":
            try:
                service.sender.replace(msgspec.json.decode(await request.body(), type=SentWebhooks))
            except msgspec.DecodeError as wrong:
                return error(400, str(wrong))
        return _json(msgspec.json.encode(service.sender.shown()))

    return endpoint


class SentWebhooks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where webhooks go, the share of them that is never sent, and the secret that signs them, by Standard Webhooks."""

    to: str = ""  # "": nobody is told
    lost: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    secret: str = ""  # "": none is signed

    def __post_init__(self) -> None:
        place = urlsplit(self.to)
        if self.to and not (place.scheme == "http" and is_loopback(place.hostname or "")):
            raise ValueError("webhooks go to an http:// address on loopback and to no other")


def _webhook(topic: str, id_: int, event: str, sent: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a webhook."""
    headers = {"X-Webhook-Topic": topic, "X-Webhook-Id": event}
    return headers, msgspec.json.encode({"topic": topic, "sent_at": sent, "data": {"id": id_}})


class Sender:
    """Sends `webhooks` in the background, in their `shape`, and counts what became of them."""

    shape: Shape = staticmethod(_webhook)

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending = 0
        self.replace(SentWebhooks())

    def replace(self, webhooks: SentWebhooks) -> None:
        """Send by these from now on, and count from 0."""
        self.webhooks = webhooks
        self._acknowledged = self._refused = 0

    def shown(self) -> dict[str, int]:
        """Return how many are pending (until it is 0 nothing is final), were acknowledged and were refused."""
        return {"pending": self._pending, "acknowledged": self._acknowledged, "refused": self._refused}

    def send(self, happened: Sequence[Event]) -> int:
        """Begin to tell of these; return how many webhooks that makes."""
        how = self.webhooks
        plan = [each for each in happened if not Rng(self._seed, "webhook", *each).often(how.lost)]
        self._pending += len(plan)
        task = asyncio.create_task(self._send(how, plan))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return len(plan)

    async def _send(self, how: SentWebhooks, plan: list[Event]) -> None:
        waiting = iter(plan)
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:

            async def tell_on() -> None:
                for each in waiting:
                    if await self._tell(session, how, each):
                        self._acknowledged += 1
                    else:
                        self._refused += 1
                    self._pending -= 1

            await asyncio.gather(*(tell_on() for _ in range(_AT_ONCE)))

    async def _tell(self, session: aiohttp.ClientSession, how: SentWebhooks, each: Event) -> bool:
        """Send a webhook until it is acknowledged; return whether it was."""
        event = f"evt_{each.topic.replace('.', '_')}_{each.id}_{each.moment}"
        sent = dt.datetime.fromtimestamp(each.moment, dt.UTC)
        headers, body = self.shape(each.topic, each.id, event, sent.isoformat().replace("+00:00", "Z"))
        for no in range(_TRIES):
            await asyncio.sleep(0.25 * no)
            try:
                signed = {**headers, **_signature(how, event, body), "Content-Type": "application/json"}
                async with session.post(how.to, data=body, headers=signed) as answer:
                    if answer.ok:
                        return True
            except (aiohttp.ClientError, TimeoutError):
                continue
        return False


def _signature(how: SentWebhooks, event: str, body: bytes) -> dict[str, str]:
    if not how.secret:
        return {}
    now = dt.datetime.now(dt.UTC)
    at, signature = str(int(now.timestamp())), Webhook(how.secret).sign(event, now, body.decode())
    return {"webhook-id": event, "webhook-timestamp": at, "webhook-signature": signature}
