"""Answer as services of other habits do: an ASGI application before the sandbox's, which speaks to it for the client.

A dialect says the same things of the same world.
"""

from __future__ import annotations

import base64
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import httpx
import msgspec
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from pipelines.sandbox.app import ROOT, error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from pipelines.sandbox.app import Shape

_PAGE = 3  # stores a page: few, so that small worlds have several


class Dialect:
    """The default: what ordermart.toml expects."""

    prefix = ""  # of every path; part of base_url
    authenticate = f"{ROOT}/authenticate"
    store_list = f"{ROOT}/stores"
    store = f"{ROOT}/stores/{{id}}"
    # These two are in the interface, sections 4.4 and 4.5.
    menu = f"{ROOT}/menus/{{id}}"
    order = f"{ROOT}/orders/{{id}}"

    hint: Shape | None = None  # how a webhook looks, if not as the sandbox's
    credential_names = "client_id and client_secret"
    client_id = ""  # given where there is no login, and the secret is the token

    def credentials(self, body: bytes, _headers: Mapping[str, str], /) -> tuple[Any, Any] | None:
        """Return the client's id and secret in an authenticate request; None where there are none."""
        try:
            read = msgspec.json.decode(body)
            return read["client_id"], read["client_secret"]
        except (msgspec.DecodeError, KeyError, TypeError):
            return None

    def grant(self, token: str, life_seconds: int, /) -> Response:
        """Return the answer that holds a token."""
        return json(msgspec.json.encode({"access_token": token, "expires_in": life_seconds}))

    def token(self, authorization: str) -> str:
        """Return the token in an Authorization header; "" where there is none."""
        scheme, _, token = authorization.partition(" ")
        return token if scheme.lower() == "bearer" else ""

    def error(self, status: int, text: str) -> Response:
        """Return the answer of a status that is no success."""
        return error(status, text)

    def store_record(self, record: bytes) -> bytes:
        """Return a store record as it is answered."""
        return record

    def details(self, record: bytes) -> bytes:
        """Return the body of a store's details: its record."""
        return record

    def stores(self, records: Sequence[bytes], _query: Mapping[str, str], /) -> Response:
        """Return the list of stores, or the page of it that the query asks for; ValueError where there is none."""
        return json(b"[" + b",".join(records) + b"]")


class Linked(Dialect):
    """Another service: stores are paged by Link headers, and the list holds no more of a store than its id."""

    prefix = "/stage"
    authenticate = "/v1/oauth/token"
    store_list = "/v1/locations"
    store = "/v1/locations/{id}"

    def credentials(self, body: bytes, _headers: Mapping[str, str], /) -> tuple[Any, Any] | None:
        """Take a form, with a grant type."""
        read = {name: values[0] for name, values in parse_qs(body.decode("latin-1")).items()}
        if read.get("grant_type") != "client_credentials" or not {"user", "password"} <= read.keys():
            return None
        return read["user"], read["password"]

    def grant(self, token: str, _life_seconds: int, /) -> Response:
        """Say no life: the token has its own exp."""
        return json(msgspec.json.encode({"session": {"jwt": token}}))

    def token(self, authorization: str) -> str:
        """Take the bare token."""
        return authorization

    def error(self, status: int, text: str) -> Response:
        """Return a page for people."""
        return HTMLResponse(f"<!doctype html><title>{status}</title><h1>{text.capitalize()}</h1>", status)

    def store_record(self, record: bytes) -> bytes:
        """Put everything in another place."""
        read = msgspec.json.decode(record)
        other = {
            "ref": {"id": read["id"]},
            "attributes": {
                "title": read["name"],
                "clock": {"zone": read["timezone"]},
                "money": {"code": read["currency"]},
                "menus": [{"ref": {"id": menu_id}, "active": True} for menu_id in read["menu_ids"]],
            },
            "contact": {"phone": read["phone"], **read["address"]},
        }
        return msgspec.json.encode(other)

    def stores(self, records: Sequence[bytes], query: Mapping[str, str], /) -> Response:
        """Name the next page in a Link header."""
        first, following = _page(query.get("from", "0"), len(records))
        ids = [msgspec.json.decode(record)["id"] for record in records[first : first + _PAGE]]
        links = [f'<{self.prefix}{self.store_list}>; rel="first"; title="a, b"']
        if following is not None:
            links.append(f'<{self.prefix}{self.store_list}?from={following}>; rel="next"')
        body = msgspec.json.encode({"data": [{"ref": {"id": id_}} for id_ in ids]})
        return json(body, headers={"Link": ", ".join(links)})

    def hint(self, topic: str, id_: int, event: str, sent: str) -> tuple[dict[str, str], bytes]:
        """Put the id where payment services have it."""
        hint = {"id": event, "type": topic, "created": sent, "data": {"object": {"id": id_}}}
        return {}, msgspec.json.encode(hint)


class Cursored(Linked):
    """The same with whole records in the list, below `data`, and a cursor that means nothing to others."""

    def stores(self, records: Sequence[bytes], query: Mapping[str, str], /) -> Response:
        """Name the next page by a cursor."""
        place = base64.urlsafe_b64decode(query.get("after", "")).decode("ascii") or "0"
        first, following = _page(place, len(records))
        cursor = None if following is None else base64.urlsafe_b64encode(str(following).encode()).decode()
        page = [msgspec.Raw(self.store_record(record)) for record in records[first : first + _PAGE]]
        return json(msgspec.json.encode({"data": {"locations": page, "next": cursor}}))


class Counted(Dialect):
    """Credentials are headers of the login; stores are paged by an offset, and an empty page is the last."""

    credential_names = "X-Client-Id and X-Client-Secret"

    def credentials(self, _body: bytes, headers: Mapping[str, str], /) -> tuple[Any, Any] | None:
        """Take two headers."""
        pair = headers.get("x-client-id"), headers.get("x-client-secret")
        return pair if all(pair) else None

    def stores(self, records: Sequence[bytes], query: Mapping[str, str], /) -> Response:
        """Give as many stores as `limit` says, from an offset on."""
        offset, limit = _number(query.get("offset", "0")), _number(query.get("limit", str(_PAGE)))
        return json(b'{"elements":[' + b",".join(records[offset : offset + limit]) + b"]}")


class Keyed(Dialect):
    """No login: the secret is the token. The body has the next page's address, details an envelope, menus keys."""

    client_id = "sandbox"

    def token(self, authorization: str) -> str:
        """Take the bare key."""
        return authorization

    def store_record(self, record: bytes) -> bytes:
        """Have menus as an object by id."""
        read = msgspec.json.decode(record)
        read["menus"] = {str(menu_id): {"active": True} for menu_id in read.pop("menu_ids")}
        return msgspec.json.encode(read)

    def details(self, record: bytes) -> bytes:
        """Put the record in an envelope."""
        return b'{"data":' + record + b"}"

    def stores(self, records: Sequence[bytes], query: Mapping[str, str], /) -> Response:
        """Have the next page's address in the body, but for the last page."""
        first, following = _page(query.get("from", "0"), len(records))
        page: dict[str, Any] = {
            "stores": [msgspec.Raw(self.store_record(record)) for record in records[first : first + _PAGE]]
        }
        if following is not None:
            page["links"] = {"next": f"?from={following}"}
        return json(msgspec.json.encode(page))


class LastId(Dialect):
    """A page says whether more follow; the id of its last record asks for them."""

    def stores(self, records: Sequence[bytes], query: Mapping[str, str], /) -> Response:
        """Give what follows a store."""
        after = query.get("starting_after")
        ids = [str(msgspec.json.decode(record)["id"]) for record in records]
        first = 0 if after is None else ids.index(after) + 1
        more = b"true" if first + _PAGE < len(records) else b"false"
        return json(b'{"has_more":' + more + b',"data":[' + b",".join(records[first : first + _PAGE]) + b"]}")


DIALECTS = {
    "standard": Dialect,
    "link": Linked,
    "cursor": Cursored,
    "offset": Counted,
    "keyed": Keyed,
    "last_id": LastId,
}


def json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(body, status, headers, media_type="application/json")


def _page(place: str, count: int) -> tuple[int, int | None]:
    """Return where a page begins and where the next one does; ValueError where there is no such page."""
    first = _number(place)
    if first > count:
        raise ValueError(place)
    return first, first + _PAGE if first + _PAGE < count else None


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


class Speaker:
    """Answers in a dialect for a service; the control API stays as it is."""

    def __init__(self, dialect: Dialect, service: ASGIApp) -> None:
        self._dialect, self._service = dialect, service
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(service), base_url="http://sandbox")
        kinds = {"orders": dialect.order, "menus": dialect.menu, "stores": dialect.store}
        routes = [Route(dialect.prefix + path, partial(self._document, kind)) for kind, path in kinds.items()]
        routes.append(Route(dialect.prefix + dialect.authenticate, self._authenticate, methods=["POST"]))
        routes.append(Route(dialect.prefix + dialect.store_list, self._store_list))
        self._spoken = Starlette(routes=routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        app = self._service if scope["path"].startswith("/_sandbox/") else self._spoken
        await app(scope, receive, send)

    async def _log_in(self, client_id: str, client_secret: str) -> httpx.Response:
        credentials = {"client_id": client_id, "client_secret": client_secret}
        return await self._client.post(f"{ROOT}/authenticate", json=credentials)

    async def _ask(self, request: Request, path: str) -> httpx.Response:
        token = self._dialect.token(request.headers.get("authorization", ""))
        if self._dialect.client_id:
            token = (await self._log_in(self._dialect.client_id, token)).json().get("access_token", "")
        return await self._client.get(f"{ROOT}/{path}", headers={"Authorization": f"Bearer {token}"})

    def _refused(self, answer: httpx.Response) -> Response:
        return self._dialect.error(answer.status_code, answer.json()["error"])

    async def _authenticate(self, request: Request) -> Response:
        credentials = self._dialect.credentials(await request.body(), request.headers)
        if credentials is None:
            return self._dialect.error(400, f"{self._dialect.credential_names} are needed")
        answer = await self._log_in(*credentials)
        if answer.is_error:
            return self._refused(answer)
        return self._dialect.grant(answer.json()["access_token"], answer.json()["expires_in"])

    async def _document(self, kind: str, request: Request) -> Response:
        answer = await self._ask(request, f"{kind}/{request.path_params['id']}")
        if answer.is_error:
            return self._refused(answer)
        body = answer.content
        return json(self._dialect.details(self._dialect.store_record(body)) if kind == "stores" else body)

    async def _store_list(self, request: Request) -> Response:
        answer = await self._ask(request, "stores")
        if answer.is_error:
            return self._refused(answer)
        records = [bytes(record) for record in msgspec.json.decode(answer.content, type=list[msgspec.Raw])]
        try:
            return self._dialect.stores(records, request.query_params)
        except ValueError:
            return self._dialect.error(404, "no such page")
