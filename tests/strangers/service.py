"""A small partner service on loopback: a world in the interface's shapes, behind the login and list of a stranger.

A subclass states the habits of one service. It counts what it is asked and how often the secret is sent, and locks the
client out after five refused logins, as services do.
"""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import parse_qs, urlsplit

from pipelines.sandbox.world import Config, World

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_ID, CLIENT_SECRET = "shop-7", "s3cret-of-the-shop"
TOKEN = "tok-5f0d9a7c"
PREFIX = "/v1/partner_developers"
ATTEMPTS = 5


@dataclass(frozen=True)
class Request:
    """One request, as far as a service looks at it; `body` is read as JSON or as a form, {} if it is neither."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    raw: bytes = b""

    @property
    def is_json(self) -> bool:
        """Whether the body is said to be JSON."""
        return "json" in self.headers.get("content-type", "")

    @property
    def is_form(self) -> bool:
        """Whether the body is said to be a form."""
        return "x-www-form-urlencoded" in self.headers.get("content-type", "")

    @property
    def body(self) -> dict[str, Any]:
        """The members of the body."""
        if self.is_form:
            return {name: values[0] for name, values in parse_qs(self.raw.decode()).items()}
        try:
            read = json.loads(self.raw) if self.is_json else {}
        except ValueError:
            read = {}
        return read if isinstance(read, dict) else {}

    @property
    def basic(self) -> tuple[str, str] | None:
        """The name and password of Basic authentication."""
        scheme, _, text = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        name, _, password = base64.b64decode(text).decode().partition(":")
        return name, password


@dataclass(frozen=True)
class Reply:
    """One answer: a value that becomes JSON, or bytes as they are."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        """Return the body's bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@cache
def world(stores: int = 7, orders: int = 14) -> World:
    """Return the made-up world that all services of this size show."""
    return World(Config(stores=stores, orders=orders, days=3))


class Stranger:
    """The service; a context manager that serves on loopback. Subclasses replace what their service does otherwise."""

    login_path = ""
    list_path = f"{PREFIX}/stores"
    prefix = ""  # of every path; part of the base address
    page_size = 3
    life_seconds = 3600
    is_gated = False  # whether every request without a token is 401, whatever its path

    def __init__(self, stores: int = 7) -> None:
        self.world = world(stores)
        self.asked: list[str] = []
        self.secrets_sent = 0
        self.refused_logins = 0
        self._server: ThreadingHTTPServer | None = None

    # What a service answers.

    def login(self, request: Request) -> Reply:
        """Answer a login."""
        raise NotImplementedError

    def is_known(self, request: Request) -> bool:
        """Return whether a request has the token."""
        return request.headers.get("authorization", "") == f"Bearer {TOKEN}"

    def stranger(self) -> Reply:
        """Answer a request without the token."""
        return Reply(401, {"error": "unauthorized"}, {"WWW-Authenticate": "Bearer"})

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Return a store as this service writes it."""
        return store

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Answer the list of stores."""
        raise NotImplementedError

    def detail(self, record: dict[str, Any]) -> Any:
        """Return the body of a store's details."""
        return record

    def number(self, store_id: str) -> int | None:
        """Return the world's number of the store that a path of details names."""
        return int(store_id) if store_id.isdigit() else None

    def detail_path(self, request: Request) -> str | None:
        """Return the id in a path of store details; None for another path."""
        name = request.path.removeprefix(f"{self.list_path}/")
        return name if name != request.path and "/" not in name else None

    def missing(self) -> Reply:
        """Answer a request for a missing document."""
        return Reply(404, {"error": "not found"})

    # How it does so.

    def refuse(self, status: int = 401, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        """Answer a login with wrong credentials, and count it."""
        self.refused_logins += 1
        return Reply(status, body or {"error": "invalid_client"}, headers or {})

    def respond(self, request: Request) -> Reply:
        """Answer one request."""
        if self.login_path and request.path == self.login_path:
            if request.method != "POST":
                return Reply(405, {"error": "method not allowed"})
            if self.refused_logins >= ATTEMPTS:
                return Reply(423, {"error": "locked"})
            return self.login(request)
        known = self.is_known(request)
        if self.is_gated and not known:
            return self.stranger()
        return self.resource(request, known=known)

    def resource(self, request: Request, *, known: bool) -> Reply:
        """Answer for stores, menus and orders."""
        document: Reply | None = None
        if request.path == self.list_path:
            document = self.page([self.record(each) for each in self.stores()], request)
        elif (store_id := self.detail_path(request)) is not None:
            number = self.number(store_id)
            found = [each for each in self.stores() if each["id"] == number]
            document = Reply(200, self.detail(self.record(found[0]))) if found else None
        else:
            for kind, read in (("menus", self.world.menu), ("orders", self.world.order)):
                start = f"{PREFIX}/{kind}/"
                if request.path.startswith(start) and request.path.removeprefix(start).isdigit():
                    body = read(int(request.path.removeprefix(start)))
                    document = None if body is None else Reply(200, body)
                    if not known:
                        return self.stranger()
        if document is None:
            is_place = self.detail_path(request) is not None
            return self.stranger() if is_place and not known else self.missing()
        if not known:
            return self.stranger()
        return document if request.method == "GET" else Reply(405, {"error": "method not allowed"})

    def stores(self) -> list[dict[str, Any]]:
        """Return the world's records of its stores."""
        return [json.loads(cast("bytes", self.world.store(store_id))) for store_id in self.world.store_ids]

    def slice(
        self, records: list[dict[str, Any]], first: int, limit: str | int | None = None
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Return a page of records from a place on, and where the next one begins; None after the last."""
        size = int(limit) if limit is not None and str(limit).isdigit() and int(limit) > 0 else self.page_size
        following = first + size
        return records[first:following], following if following < len(records) else None

    @property
    def base_url(self) -> str:
        """The address of the service."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _answer(self) -> None:
                parts = urlsplit(self.path)
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
                request = Request(self.command, parts.path.removeprefix(outer.prefix), query, headers, raw)
                outer.asked.append(f"{self.command} {self.path}")
                outer.secrets_sent += _has_secret(request)
                reply = outer.respond(request)
                content = reply.content()
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _answer  # noqa: N815 -- names of http.server

            def log_message(self, *_: object) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()


def _has_secret(request: Request) -> bool:
    texts = [request.raw.decode("utf-8", "replace"), *request.headers.values(), *request.query.values()]
    pair = request.basic
    return any(CLIENT_SECRET in text for text in [*texts, *(pair or ())])
