"""The answers of [partner] so far, each with its evidence, and the few requests by which they are found.

The secret leaves this machine at most `SECRETS` times before a service accepts it, and to one origin only.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import msgspec

from pipelines.landing.exact import escaped, shown
from pipelines.partner.client import network_of
from pipelines.partner.exchange import ASK_FOR_JSON, read_body
from pipelines.partner.pointer import get_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipelines.settings import Settings

REQUESTS, SECRETS = 160, 4
ANSWERED = "answered"
_SECONDS = 10.0
_BODY = 8_388_608
_DEPTH = 6
_ELEMENTS = 50  # of an array, that are looked at


class UnprovenError(Exception):
    """An answer could not be proven; the message says which one, and what to give instead."""


class LimitError(httpx.TransportError):
    """A request was not sent: it would be one too many, carry the secret too often, or go elsewhere."""


class Meter(httpx.AsyncBaseTransport):
    """The network of an examination: counts requests and those with the secret, and sends no more than allowed."""

    def __init__(self, settings: Settings) -> None:
        partner = settings.partner
        self._network = network_of(partner)
        self._origin = httpx.URL(partner.base_url)
        name, secret = partner.client_id.reveal(), partner.client_secret.reveal()
        pair = base64.b64encode(f"{name}:{secret}".encode()).decode()
        quoted = str(httpx.QueryParams({"": secret}))[1:]
        self._forms = {form for form in (secret, json.dumps(secret)[1:-1], quoted, pair) if secret}
        self.requests = self.secrets = 0
        self.is_secret_accepted = False  # as the token itself: from then on each request carries it

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raise LimitError instead of one too many."""
        texts = [str(request.url), request.content.decode("utf-8", "replace"), *request.headers.values()]
        has_secret = any(form in text for form in self._forms for text in texts)
        url = request.url
        if (url.scheme, url.host, url.port) != (self._origin.scheme, self._origin.host, self._origin.port):
            raise LimitError("another origin")
        if self.requests >= REQUESTS:
            raise LimitError(f"{REQUESTS} requests")
        if has_secret and not self.is_secret_accepted:
            if self.secrets >= SECRETS:
                raise LimitError(f"the secret {SECRETS} times")
            self.secrets += 1
        self.requests += 1
        return await self._network.handle_async_request(request)

    async def close(self) -> None:
        """Close the connections; a client that used this network does not."""
        await self._network.aclose()

    def sentence(self) -> str:
        """Return what was sent."""
        times = f"{self.secrets} of at most {SECRETS} times" + (", then as the token" * self.is_secret_accepted)
        return f"{self.requests} of at most {REQUESTS} requests were sent, the secret {times}."


class Reply(NamedTuple):
    """An answer: status 0 is none at all; `value` is what its JSON says, None without JSON."""

    status: int
    headers: httpx.Headers = httpx.Headers()
    value: Any = None
    body: bytes = b""


async def send(meter: Meter, method: str, url: str, **content: Any) -> Reply:
    """Send one request, and read the answer; raise nothing but UnprovenError, beyond a limit."""
    headers = {**ASK_FOR_JSON, **content.pop("headers", {})}
    return await sent(meter, httpx.Request(method, url, headers=headers, **content))


async def sent(meter: Meter, request: httpx.Request) -> Reply:
    """Do the same with a request that was made elsewhere."""
    limit = ""
    try:
        async with asyncio.timeout(_SECONDS):
            response = await meter.handle_async_request(request)
            try:
                body, _ = await read_body(response, response.headers.get("content-encoding", ""), _BODY)
            finally:
                await response.aclose()
    except LimitError as error:
        limit = str(error)
    except Exception:  # noqa: BLE001 -- errors of the network hold the request, and so the secret
        return Reply(0)
    if limit:
        raise UnprovenError(f"the examination ends here: no more than {limit}")
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        value = None
    return Reply(response.status_code, response.headers, value, body)


class Draft:
    """The settings as they would be: keys and tables `given` stay, those `found` are to be written, with evidence."""

    def __init__(self, settings: Settings, ask: Callable[[str, str], str], given: frozenset[str] = frozenset()) -> None:
        self.settings, self.given = settings, given
        self.found: dict[str, tuple[Any, str]] = {}
        self._ask = ask
        self._extras: dict[str, str] = {}

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return self.settings.partner.base_url.rstrip("/") + path

    def set(self, evidence: str, **answers: Any) -> None:
        """Note answers, named as table__key below [partner], unless they are given."""
        for name, value in answers.items():
            key = "partner." + name.replace("__", ".")
            if not self._stays(key):
                self.note(key, value, evidence)

    def note(self, key: str, value: Any, evidence: str) -> None:
        """Note one answer by its dotted key."""
        self.settings = replaced(self.settings, key.split("."), value)
        self.found[key] = (value, evidence)

    def drop(self, *tables: str) -> None:
        """Forget answers below [partner] whose names begin so, as their proof failed; those of people stay."""
        for key, (_, evidence) in list(self.found.items()):
            if evidence != ANSWERED and key.removeprefix("partner.").startswith(tables):
                del self.found[key]

    def ask(self, key: str, question: str) -> str:
        """Return what a person answers; raise where there is nobody to ask."""
        return self._ask(key, question).strip()

    def login_field(self, name: str) -> str:
        """Return the value of a further field of the login, asked for once."""
        if name not in self._extras:
            self._extras[name] = self.ask(f"partner.authenticate.body.{name}", f"The login wants {name}; its value")
        return self._extras[name]

    def has(self, name: str) -> bool:
        """Return whether the answer to a key below [partner] is given."""
        return self._stays(f"partner.{name}")

    def _stays(self, key: str) -> bool:
        return key in self.given or key.rpartition(".")[0] in self.given


def replaced(table: Any, path: list[str], value: Any) -> Any:
    """Return a copy of settings in which the key at `path` has this value."""
    inner = value if len(path) == 1 else replaced(getattr(table, path[0]), path[1:], value)
    return msgspec.structs.replace(table, **{path[0]: inner})


def leaves(value: Any, pointer: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of a record's scalars; "*" stands for the elements of an array.

    Of an object whose keys are all whole numbers it yields these, at "{key}". Names that do not look like names may
    hold personal data, and are passed over.
    """
    if isinstance(value, dict):
        if value and all(key.isascii() and key.isdigit() for key in value):
            yield from ((f"{pointer}/{{key}}", int(key)) for key in value)
        elif depth:
            for key, inner in plain_members(value):
                yield from leaves(inner, f"{pointer}/{key}", depth - 1)
    elif isinstance(value, list):
        for inner in value[:_ELEMENTS] if depth else ():
            yield from leaves(inner, f"{pointer}/*", depth - 1)
    else:
        yield pointer, value


class Search:
    """A search of the service with a token that works."""

    def __init__(self, draft: Draft, meter: Meter, headers: dict[str, str]) -> None:
        self.draft, self.meter, self.headers = draft, meter, headers

    async def get(self, path: str, **query: Any) -> Reply:
        """Request a path with the token."""
        url = httpx.URL(self.draft.url(path))
        return await self.get_url(str(url.copy_merge_params(query) if query else url))

    async def get_url(self, url: str) -> Reply:
        """Request an address with the token."""
        return await send(self.meter, "GET", url, headers=self.headers)


def plain_members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield members by their names as in a pointer; names that do not look like names may hold personal data."""
    return ((escaped(key), inner) for key, inner in value.items() if shown(key) == key)


def values_at(records: list[dict[str, Any]], pointer: str) -> list[Any]:
    """Return the values of all records at a pointer."""
    return [value for record in records for value in get_all(record, pointer)]


def own_numbers(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield pointers of whole numbers that every record has, and no two the same."""
    for pointer in dict.fromkeys(pointer for pointer, _ in leaves(records[0] if records else None)):
        values = values_at(records, pointer)
        is_own = all(type(value) is int for value in values) and len(set(values)) == len(values) == len(records)
        if is_own and "*" not in pointer and "{key}" not in pointer:
            yield pointer
