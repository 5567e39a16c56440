"""Serve the webhook receiver: `ordermart webhooks serve`, a process of its own; several may write to the same inbox.

Deliveries are limited in size, time and number, and answered once they are committed: `deliveries` verifies and decodes
one, and `store` makes it durable. A bucket of tokens per address limits how many each sender may make, signed or
not. Bodies that nobody could verify or read are kept encrypted, up to a limit. Of a sender that opens many connections
and says nothing, the longest idle are closed first.
"""

import asyncio
import contextlib
import ipaddress
import re
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from granian.http import HTTP1Settings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines.clock import utc_now
from pipelines.durable import keep_private
from pipelines.inbox.store import Committer, Decoder, Verify, WebhookDelivery, inbox_path, serialized, verifier
from pipelines.listening import claimed, serve_until_stopped
from pipelines.settings import Settings, SettingsError, WebhookSettings
from pipelines.settings.contradictions import unsigned
from pipelines.vault import Vault, VaultError, open_vault
from pipelines.vault.bodies import ROW_BYTES

_BURST_SECONDS = 20  # a quiet sender may send so many seconds' worth at once
_MOST = 10_000  # senders remembered; those beyond share one bucket
_FORGET_SECONDS = 1.0
_OTHERS = "others"
_NETWORK_BITS = 64  # of IPv6: one sender usually has so many addresses


class Senders:
    """The buckets of all senders; `per_second` deliveries of each are allowed on average, 0 for any number."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._most = max(1.0, per_second * _BURST_SECONDS)
        self._forgotten_at = -_FORGET_SECONDS
        self._buckets: dict[str, tuple[float, float]] = {}

    def allow(self, sender: str) -> bool:
        """Return whether a sender may deliver now, and count the delivery."""
        if not self._per_second:
            return True
        now = self._clock()
        if sender not in self._buckets and len(self._buckets) >= _MOST:
            self._forget_quiet_ones(now)
            if len(self._buckets) >= _MOST:
                sender = _OTHERS
        left, at = self._buckets.get(sender, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        is_allowed = left >= 1
        self._buckets[sender] = (left - is_allowed, now)
        return is_allowed

    def _forget_quiet_ones(self, now: float) -> None:
        """Forget the senders whose buckets are full again, but not with every delivery."""
        if now - self._forgotten_at < _FORGET_SECONDS:
            return
        self._forgotten_at = now
        self._buckets = {
            sender: (left, at)
            for sender, (left, at) in self._buckets.items()
            if left + (now - at) * self._per_second < self._most
        }


def sender_of(client: tuple[str, int] | None, headers: Mapping[bytes, bytes], proxies: Sequence[str] = ()) -> str:
    """Return who sends: the address, or what one of the proxies that settings name says of it in X-Real-IP."""
    address = client[0] if client else ""
    try:
        peer = ipaddress.ip_address(address)
        is_proxy = any(peer in ipaddress.ip_network(each, strict=False) for each in proxies)
        if is_proxy and (named := headers.get(b"x-real-ip", b"").strip()):
            peer = ipaddress.ip_address(named.decode("ascii"))
    except ValueError:
        return address
    if peer.version == 4:
        return str(peer)
    return str(ipaddress.ip_network((peer, _NETWORK_BITS), strict=False))


_HELD_BYTES = 64 * 1024 * 1024  # of all bodies in memory; above it deliveries are answered with 503
_MICROSECONDS = 1_000_000


class Rejected(Exception):
    """A delivery is rejected with `status`; nothing of it is stored."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Receiver:
    """The ASGI endpoint of deliveries. It answers 202 only after `settled` reported the delivery as committed."""

    def __init__(
        self,
        settings: WebhookSettings,
        decoder: Decoder,
        verify: Verify,
        put: Callable[[WebhookDelivery], None],
        *,
        keeps_bodies: bool,
    ) -> None:
        self._settings, self._decoder, self._verify, self._put = settings, decoder, verify, put
        self._keeps_bodies = keeps_bodies
        self._waiting = 0
        self._held = 0
        self._undecodable = 0  # bytes of undecodable bodies that wait to be stored
        self._senders = Senders(settings.max_per_second)
        self._proxies = settings.trusted_proxies
        self._loop: asyncio.AbstractEventLoop | None = None
        retry = [(b"retry-after", str(settings.retry_after_seconds).encode())]
        close = [(b"connection", b"close")]
        more = {202: [], 401: [], 408: close, 413: close, 429: retry, 503: retry}
        self._answers = {status: _answer(status, headers) for status, headers in more.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one delivery."""
        try:
            headers = dict(scope["headers"])
            if not self._senders.allow(sender_of(scope.get("client"), headers, self._proxies)):
                raise Rejected(429)
            status = await self._take(headers, receive)
        except Rejected as rejected:
            status = rejected.status
        except ConnectionError:
            return  # the sender disconnected; nothing was acknowledged
        for message in self._answers[status]:
            await send(message)

    def settled(self, group: Sequence[tuple[object, bool]]) -> None:
        """Receive the results of a group, on the committer's thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._settle, group)

    async def _take(self, headers: dict[bytes, bytes], receive: Receive) -> int:
        received_at = time.time()
        if self._waiting >= self._settings.queue_size:
            raise Rejected(503)
        body = await self._body(headers, receive)
        try:
            if not self._verify(headers, body, received_at):
                raise Rejected(401)
            notification = self._decoder.decode(headers, body)
            kept = serialized(headers, body) if self._keeps_bodies and notification.undecodable else None
            size = len(body)
            if kept is None:
                self._held -= size
                body = b""
            stored_at = int(utc_now().timestamp() * _MICROSECONDS)
            return await self._commit(WebhookDelivery(None, stored_at, notification, size, kept))
        finally:
            self._held -= len(body)

    async def _commit(self, delivery: WebhookDelivery) -> int:
        undecodable = len(delivery.body or b"")
        most, held = self._settings.max_stored_bytes, self._undecodable + undecodable
        if self._waiting >= self._settings.queue_size or held > most:
            raise Rejected(503)
        self._loop = asyncio.get_running_loop()
        committed = self._loop.create_future()
        self._waiting += 1
        self._undecodable += undecodable
        self._put(delivery._replace(ticket=committed))
        try:
            return 202 if await committed else 503
        finally:
            self._undecodable -= undecodable

    def _settle(self, group: Sequence[tuple[Any, bool]]) -> None:
        for future, committed in group:
            self._waiting -= 1
            if not future.done():
                future.set_result(committed)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Read the body within the limits of size and time; the returned bytes are counted in `_held`."""
        limit = self._settings.max_bytes
        length = headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 15 or int(length) > limit):
            raise Rejected(413)
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._settings.read_timeout_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionResetError
                    chunk = message.get("body", b"")
                    more = message.get("more_body", False)
                    size += len(chunk)
                    self._held += len(chunk)
                    chunks.append(chunk)
                    if size > limit:
                        raise Rejected(413)
                    if self._held > _HELD_BYTES:
                        raise Rejected(503)
        except BaseException as error:
            self._held -= size
            if isinstance(error, TimeoutError):
                raise Rejected(408) from None
            raise
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def make_app(receiver: Receiver, path: str) -> ASGIApp:
    """Return the application: deliveries at `path`, and a health check at /health."""

    async def health(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if "path" in scope:  # few senders follow a redirect
            scope["path"] = _without_more_slashes(scope["path"])
        await app(scope, receive, send)

    routes = [Route(_without_more_slashes(path), receiver, methods=["POST"]), Route("/health", health, methods=["GET"])]
    app = Starlette(routes=routes)
    return application


def _without_more_slashes(path: str) -> str:
    return re.sub("/+", "/", path).rstrip("/") or "/"


def _answer(status: int, headers: list[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
    start = {"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0"), *headers]}
    return [start, {"type": "http.response.body", "body": b""}]


_KIND = "webhooks"
_SOME = 10  # at least so many percent are freed at once, so that not every delivery frees a little


class Bodies:
    """The bodies of undecodable deliveries in a vault, at most `most` bytes of them."""

    def __init__(self, vault: Vault, most: int) -> None:
        self._vault, self._most = vault, most
        self._bytes = vault.refused.stored_bytes(_KIND)
        self._uncounted = 0

    def keep(self, bodies: Sequence[bytes]) -> tuple[Sequence[str], Sequence[str]]:
        """Encrypt bodies, durably, within the limit; return references to them, and to older ones that made room."""
        size = sum(len(body) + ROW_BYTES for body in bodies)
        removed = self._make_room(size)
        refs = self._vault.refused.encrypt(_KIND, _KIND, ((None, body) for body in bodies), utc_now())
        self._vault.sync()
        self._bytes += size
        self._uncounted += size
        return refs, removed

    def _make_room(self, size: int) -> list[str]:
        if self._uncounted > self._most // _SOME:  # another receiver stores here, and maintenance removes
            self._bytes, self._uncounted = self._vault.refused.stored_bytes(_KIND), 0
        if self._bytes + size <= self._most:
            return []
        wanted = min(self._most, size + self._most // _SOME)
        removed = self._vault.refused.forget_oldest(_KIND, leave=self._most - wanted)
        self._bytes, self._uncounted = self._vault.refused.stored_bytes(_KIND), 0
        what = f"{len(removed):,} bodies of undecodable deliveries, the oldest, were removed from the vault"
        sys.stderr.write(f"{what}: [webhooks] max_stored_bytes; the deliveries stay listed\n")
        sys.stderr.flush()
        return removed


_SHUTDOWN_SECONDS = 2.0  # for open connections
_WARNING_SECONDS = 10.0


class ReceiverError(Exception):
    """The receiver cannot start; the message says why."""


def serve_webhooks(settings: Settings, host: str | None = None, port: int | None = None) -> None:
    """Receive deliveries until SIGTERM or SIGINT; print one line when ready.

    Undecodable bodies are encrypted in the vault if its keys are set, else dropped; the delivery is stored either way.
    Raise SettingsError for a signature without a usable secret, and for an address that others can reach without a
    signature, ListenError if the address is in use, ReceiverError if the inbox cannot be written.
    """
    webhooks = settings.webhooks
    host, port = host or webhooks.host, webhooks.port if port is None else port
    if complaint := unsigned(settings, host):
        raise SettingsError(complaint)
    verify = verifier(webhooks)
    keep_private(settings.data_dir)
    port = claimed(host, port)
    vault = None
    with contextlib.suppress(VaultError):  # without keys no body is kept
        vault = open_vault(settings)
    encrypt = None if vault is None else Bodies(vault, webhooks.max_stored_bytes).keep
    committer = Committer(inbox_path(settings.data_dir), encrypt=encrypt, failed=_Warnings())
    receiver = Receiver(webhooks, Decoder(webhooks), verify, committer.put, keeps_bodies=encrypt is not None)
    try:
        committer.start(receiver.settled)
    except (OSError, sqlite3.Error) as error:
        raise ReceiverError(f"the inbox cannot be written: {error}") from None
    # the limit of open files must allow the size of the queue
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * webhooks.queue_size + 256
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        app, path = make_app(receiver, webhooks.path), webhooks.path
        http1 = HTTP1Settings(header_read_timeout=int(webhooks.read_timeout_seconds * 1000))
        waiting = 2 * webhooks.queue_size  # more than may wait, so that the excess is answered with 503
        more = {"http1_settings": http1, "backpressure": waiting}
        asyncio.run(serve_until_stopped(app, host, port, path, patience_seconds=_SHUTDOWN_SECONDS, **more))
    finally:
        committer.stop()
        if vault is not None:
            vault.close()


class _Warnings:
    """Prints on standard error why deliveries could not be committed, at most every ten seconds."""

    def __init__(self) -> None:
        self._last = -_WARNING_SECONDS

    def __call__(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._last >= _WARNING_SECONDS:
            self._last = now
            sys.stderr.write(f"deliveries could not be committed and were answered with 503: {reason}\n")
            sys.stderr.flush()
