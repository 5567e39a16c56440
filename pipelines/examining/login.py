"""The answers of [partner] so far, each with its evidence, the few requests by which they are found; and the login.

Of the login it finds path, encoding and fields, the token in its answer, and how that is sent. A path is first asked
without credentials; what it answers says which way of sending them is likely. The secret leaves this machine at most
`SECRETS` times before a service accepts it, and to one origin only.
"""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import msgspec

from pipelines.landing.exact import escaped, safe_key
from pipelines.literals import unmarked
from pipelines.partner.exchange import ASK_FOR_JSON, PartnerMisconfigured, read_body
from pipelines.partner.listing import word_of
from pipelines.partner.network import open_client, transport_to
from pipelines.partner.pointer import get
from pipelines.partner.token import authenticate_request
from pipelines.settings import Settings, SettingsError
from pipelines.settings.contradictions import HEADER

Ask = Callable[[str, str], str]

REQUESTS, SECRETS = 160, 4
ANSWERED = "answered"
_SECONDS = 10.0
_BODY = 8_388_608
_ELEMENTS = 50  # of an array, that are looked at
PATHS = (
    "/v1/partner_developers/authenticate /oauth/token /oauth2/token /oauth/v2/token /v1/oauth/token /v1/oauth2/token "
    "/v2/oauth/token /oauth/access_token /auth/token /v1/auth/token /auth/login /v1/auth/login /login /v1/authenticate "
    "/authenticate /authentication/v1/authentication/login"
).split()
_NONSENSE = "/v1/there-is-nothing-here"
_PREFIXES = ("/v1/partner_developers", "/v1", "/v2", "/v3", "", "/api", "/api/v1", "/partners/v1")
_WORDS = ("stores", "locations", "restaurants", "merchants")
_ABSENT, _MOVED = (404, 405, 410, 501), (301, 302, 303, 307, 308)
_PASSED = (200, 404)  # a gate refuses every path without a token: with one, 404 is an answer
_NO_CREDENTIALS, _LOCKED = (400, 401, 403, 411, 415, 422), (403, 423, 429)
_IDS = set("clientid xclientid username user apikey appid accesskeyid apiaccesskeyid keyid login".split())
_SECRETS = set("clientsecret xclientsecret password secret apisecret appsecret secretkey apisecretaccesskey".split())
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*")
_MEMBER = re.compile(r"[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|scope|audience|resource|X(?:-[A-Z][a-z]+)+")
_TOKEN, _NO_TOKEN = re.compile("token|jwt", re.IGNORECASE), re.compile("refresh|type|id_?token|expir", re.IGNORECASE)
_MOST_FIELDS = 4  # of a login besides the credentials, that are asked for
_LIFE = re.compile("expir|ttl|lifetime", re.IGNORECASE)
_LIVES, _DIGITS = range(30, 366 * 86_400), 12  # seconds
Way = tuple[str, dict[str, str]]


class UnprovenError(Exception):
    """An answer could not be proven; the message says which one, and what to give instead."""


class OpenAnswerError(UnprovenError):
    """There is nobody to ask; the message is the question, and how to give its answer."""


class LimitError(httpx.TransportError):
    """A request was not sent: it would be one too many, carry the secret too often, or go elsewhere."""


class Meter(httpx.AsyncBaseTransport):
    """The network of an examination: counts requests and those with the secret, and sends no more than allowed."""

    def __init__(self, settings: Settings) -> None:
        partner = settings.partner
        try:
            self._network = transport_to(partner.base_url, proxy=partner.proxy)
        except PartnerMisconfigured as error:
            raise SettingsError(str(error)) from None
        self.client = open_client(partner.base_url, transport=self)
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
            response = await meter.client.send(request, stream=True)
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
        value = msgspec.json.decode(unmarked(body))
    except (ValueError, RecursionError):
        value = None
    return Reply(response.status_code, response.headers, value, body)


class Draft:
    """The settings as they would be: keys and tables `given` stay, those `found` are to be written, with evidence."""

    def __init__(self, settings: Settings, ask: Ask, given: frozenset[str] = frozenset()) -> None:
        self.settings, self.given = settings, given
        self.found: dict[str, tuple[Any, str]] = {}
        self.ask: Ask = lambda key, question: ask(key, question).strip()  # raises where there is nobody to ask
        self._extras: dict[str, str] = {}
        self.open: list[str] = []  # questions that stop nothing

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return self.settings.partner.base_url.rstrip("/") + path

    def set(self, evidence: str, **answers: Any) -> None:
        """Note answers, named as table__key below [partner], unless they are given."""
        for name, value in answers.items():
            key = name.replace("__", ".")
            if not self.has(key):
                self.note(f"partner.{key}", value, evidence)

    def note(self, key: str, value: Any, evidence: str) -> None:
        """Note one answer by its dotted key."""
        self.settings = replaced(self.settings, key.split("."), value)
        self.found[key] = (value, evidence)

    def drop(self, *tables: str) -> None:
        """Forget answers below [partner] whose names begin so, as their proof failed; those of people stay."""
        for key, (_, evidence) in list(self.found.items()):
            if evidence != ANSWERED and key.removeprefix("partner.").startswith(tables):
                del self.found[key]

    def ask_by_the_way(self, key: str, question: str) -> str | None:
        """Return an answer without which the examination goes on; None, and the question is noted, without one."""
        try:
            return self.ask(key, question)
        except OpenAnswerError as error:
            self.open.append(str(error))
            return None

    def login_field(self, name: str) -> str:
        """Return the value of a further field of the login, asked for once."""
        if name not in self._extras:
            key, question = f"partner.authenticate.body.{name}", f"The login wants {name}; its value"
            self._extras[name] = self.ask_by_the_way(key, question) or ""
        return self._extras[name]

    def has(self, name: str) -> bool:
        """Return whether the answer to a key below [partner] is given."""
        key = f"partner.{name}"
        return key in self.given or key.rpartition(".")[0] in self.given


def replaced(table: Any, path: list[str], value: Any) -> Any:
    """Return a copy of settings in which the key at `path` has this value."""
    inner = value if len(path) == 1 else replaced(getattr(table, path[0]), path[1:], value)
    return msgspec.structs.replace(table, **{path[0]: inner})


def leaves(value: Any, pointer: str = "", depth: int = 6) -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of a record's scalars; "*" stands for the elements of an array.

    Of an object whose keys are all whole numbers it yields these, at "{key}". Names that do not look like names may
    hold personal data, and are passed over.
    """
    if isinstance(value, dict):
        if value and all(key.isascii() and key.isdigit() for key in value):
            yield from ((f"{pointer}/{{key}}", int(key)) for key in value)
        elif depth:
            for key, inner in members(value):
                yield from leaves(inner, f"{pointer}/{key}", depth - 1)
    elif isinstance(value, list):
        for inner in value[:_ELEMENTS] if depth else ():
            yield from leaves(inner, f"{pointer}/*", depth - 1)
    else:
        yield pointer, value


def members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield members by their names as in a pointer; names that do not look like names may hold personal data."""
    return ((escaped(key), inner) for key, inner in value.items() if safe_key(key) == key)


class Hints:
    """The names of fields and headers that a service's refusals mention."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.challenge = ""
        self.refused: set[str] = set()  # encodings

    def add(self, reply: Reply) -> None:
        """Read one refusal."""
        self.challenge += " " + reply.headers.get("www-authenticate", "")
        for text in _texts(reply.value):
            self.names.update(dict.fromkeys(name for name in _NAME.findall(text) if _MEMBER.fullmatch(name)))

    def named(self, words: set[str]) -> str:
        """Return the first name that means one of these words; "" without one."""
        return next((name for name in self.names if word_of(name) in words), "")

    def others(self) -> list[str]:
        """Return the names that are neither credentials nor the grant type."""
        known = {*_IDS, *_SECRETS, "granttype"}
        return [name for name in self.names if word_of(name) not in known and name[0] != "X"][:_MOST_FIELDS]


async def refused_lists(draft: Draft, meter: Meter) -> tuple[list[str], Hints]:
    """Return the paths that may list stores, as they are refused without a token, and what refusals say."""
    hints = Hints()
    if draft.has("list_stores.path"):
        paths = [draft.settings.partner.list_stores.path]
    else:
        paths = [f"{prefix}/{word}" for word in _WORDS for prefix in _PREFIXES]
    if (nothing := (await send(meter, "GET", draft.url(_NONSENSE))).status) == 0:
        raise UnprovenError(f"{draft.settings.partner.base_url} does not answer: check --base-url and the network")
    if nothing in (401, 403) and len(paths) > 1:  # everything is refused: no path shows itself
        return paths, hints
    found = []
    for path in paths:
        reply = await send(meter, "GET", draft.url(path))
        if reply.status in (401, 403):
            found.append(path)
            hints.add(reply)
    if not found:
        path = draft.ask("partner.list_stores.path", "Path of the list of stores (none of the usual ones is one)")
        reply = await send(meter, "GET", draft.url(path))
        hints.add(reply)
        draft.set(ANSWERED, list_stores__path=path)
        if reply.status not in (401, 403):
            raise UnprovenError(f"{path} answers {reply.status} without a token: nothing proves that a token is used")
        found = [path]
    return found, hints


async def find_login(draft: Draft, meter: Meter) -> Reply | None:
    """Find how a token is had, and return the answer that holds one; None if the secret itself may be the token."""
    how = draft.settings.partner.authenticate
    if how.encoding == "none" and draft.has("authenticate.encoding"):
        return None
    path, reply = await _path(draft, meter)
    if not path:
        return None
    if reply.status in (0, *_ABSENT, *_MOVED):  # only a path that exists sees the secret
        raise UnprovenError(f"POST {path} answers {reply.status}, so that nothing was sent to it: check the path")
    hints = Hints()
    hints.add(reply)
    probes: dict[str, int] = {}
    for encoding, content in (("json", {"json": {}}), ("form", {"data": {"grant_type": "client_credentials"}})):
        probe = await send(meter, "POST", draft.url(path), **content)
        hints.add(probe)
        if probe.status == 415:
            hints.refused.add(encoding)
        probes[encoding] = probe.status
    tried: list[Way] = []
    status = 0
    while meter.secrets < SECRETS - 1:
        if (way := next((way for way in _ways(draft, hints) if way not in tried), None)) is None:
            break
        tried.append(way)
        draft.set(
            "it issued a token", authenticate__path=path, authenticate__encoding=way[0], authenticate__body=way[1]
        )
        reply = await sent(meter, authenticate_request(draft.settings.partner))
        status = reply.status
        if status in (200, 201) and any(_tokens(reply.value)):
            return reply
        if status in _LOCKED or (status == 401 and probes.get(way[0], 401) != 401):
            break  # locked, or understood and refused: other ways would fail too
        hints.add(reply)
    ways = "; ".join(f"{encoding} with {', '.join(body) or 'no field'}" for encoding, body in tried)
    likely = {0: "the path", 200: "the fields", 415: "the encoding", 429: "the number of logins, later"}.get(
        status, "the credentials, then the fields and the encoding"
    )
    raise UnprovenError(
        f"login failed: POST {path} answered {status or 'nothing'} to {ways or 'nothing'}. Check {likely}; give "
        "--set authenticate.path=…, --set authenticate.encoding=… or --set 'authenticate.body={name = \"{client_id}\"}'"
    )


async def find_token(draft: Draft, meter: Meter, reply: Reply | None, paths: list[str], hints: Hints) -> dict[str, str]:
    """Find the token in the answer and how it is sent, by a list that is refused without it; return the headers."""
    how = draft.settings.partner.authenticate
    secret = draft.settings.partner.client_secret.reveal()
    tokens = [("", secret)] if reply is None else list(_tokens(reply.value))
    if draft.has("authenticate.token_pointer") and reply is not None:
        tokens = [(how.token_pointer, get(reply.value, how.token_pointer))]
    for pointer, token in tokens:
        for header, scheme in _places(draft, hints, is_secret=reply is None):
            headers = {header: f"{scheme} {token}".strip()}
            status = (await send(meter, "GET", draft.url(paths[0]), headers=headers)).status
            if status in (423, 429):
                raise UnprovenError(f"the service answers {status}: it wants no more requests for now")
            if status not in _PASSED:
                continue
            life = "" if reply is None else _life(reply.value)
            evidence = f"GET {paths[0]} answers {status} with it, and 401 or 403 without"
            draft.set(evidence, authenticate__header=header, authenticate__scheme=scheme)
            if reply is None:
                meter.is_secret_accepted = True
                draft.set("the secret itself is the token", authenticate__encoding="none")
            else:
                draft.set(evidence, authenticate__token_pointer=pointer)
                draft.set("a number of seconds" if life else "none stated", authenticate__expires_in_pointer=life)
            return headers
    advice = "give --set authenticate.header=… and authenticate.scheme=…"
    raise UnprovenError(f"{paths[0]} refuses what the login returned: {advice}")


async def _path(draft: Draft, meter: Meter) -> tuple[str, Reply]:
    """Return the path of the login, and what it answers without credentials; "" if there is none."""
    if draft.has("authenticate.path"):
        path = draft.settings.partner.authenticate.path
        return path, await send(meter, "POST", draft.url(path))
    nonsense = await send(meter, "POST", draft.url(_NONSENSE))
    why = f"POST to any path answers {nonsense.status}, so that no path shows itself"
    if nonsense.status in _ABSENT:
        replies = []
        for path in PATHS:
            replies.append((path, await send(meter, "POST", draft.url(path))))
            if (status := replies[-1][1].status) in (423, 429):
                raise UnprovenError(f"POST {path} answers {status}: the service wants no more logins for now")
        # Some services refuse with 200.
        for statuses in (_NO_CREDENTIALS, (200,)):
            for path, reply in replies:
                if reply.status in statuses and (reply.status != 200 or isinstance(reply.value, dict)):
                    return path, reply
        moved = next((path for path, reply in replies if reply.status in _MOVED), "")
        why = f"{moved} redirects, which is not followed" if moved else "none of the usual paths is one"
    what = f"Path of the login ({why}; none, as authenticate.encoding, if the secret is the token)"
    path = draft.ask("partner.authenticate.path", what)
    if path in ("", "none"):
        return "", nonsense
    draft.set(ANSWERED, authenticate__path=path)
    return path, await send(meter, "POST", draft.url(path))


def _ways(draft: Draft, hints: Hints) -> Iterator[Way]:
    """Yield encodings and bodies, the likely ones first."""
    how = draft.settings.partner.authenticate
    if draft.has("authenticate.body"):
        for each in (how.encoding,) if draft.has("authenticate.encoding") else ("json", "form", "basic"):
            yield each, dict(how.body)
        return
    name, secret = hints.named(_IDS), hints.named(_SECRETS)
    grant = {} if name and secret and "grant_type" not in hints.names else {"grant_type": "client_credentials"}
    encodings: list[str] = [each for each in ("json", "form", "basic") if each not in hints.refused]
    if draft.has("authenticate.encoding"):
        encodings = [how.encoding]
    elif name.startswith("X-") and secret.startswith("X-"):
        encodings = ["headers"]
    elif "basic" in hints.challenge.lower():
        encodings = ["basic", "form"]
    more = {each: draft.login_field(each) for each in hints.others()} if hints.names else {}
    if draft.open:  # of fields of the login
        raise UnprovenError(draft.open.pop())
    more = {each: value for each, value in more.items() if value}
    pair = {name or "client_id": "{client_id}", secret or "client_secret": "{client_secret}"}
    for encoding in encodings:
        body = pair if encoding == "headers" else grant if encoding == "basic" else {**grant, **pair}
        yield encoding, body if encoding == "headers" else {**body, **more}


def _places(draft: Draft, hints: Hints, *, is_secret: bool) -> Iterator[tuple[str, str]]:
    """Yield headers and schemes by which a token may be sent, the likely ones first; few, if it is the secret."""
    how = draft.settings.partner.authenticate
    schemes = ["", "Bearer"] if is_secret else ["", "Bearer", "JWT", "Token"]
    if draft.has("authenticate.scheme"):
        schemes = [how.scheme]
    if draft.has("authenticate.header"):
        yield from ((how.header, scheme) for scheme in schemes)
        return
    yield from ((name, "") for name in hints.names if re.fullmatch(r"X-.*(Token|Key)", name))
    yield from sorted((("Authorization", scheme) for scheme in schemes), key=lambda place: place[1] != "Bearer")
    header = draft.ask("partner.authenticate.header", "Header of the token (Authorization is refused)")
    if header and not re.fullmatch(HEADER, header):
        raise UnprovenError("a header's name has no colon or space: give --set authenticate.header=… and .scheme=…")
    yield from ((header, scheme) for scheme in schemes if header)


def _tokens(value: Any) -> Iterator[tuple[str, str]]:
    """Yield pointers and values of likely tokens, access tokens first."""
    found = [
        (pointer, each)
        for pointer, each in leaves(value)
        if isinstance(each, str) and each and " " not in each and "*" not in pointer
        if _TOKEN.search(pointer.rpartition("/")[2]) and not _NO_TOKEN.search(pointer.rpartition("/")[2])
    ]
    return iter(sorted(found, key=lambda each: ("access" not in each[0].lower(), each[0].count("/"))))


def _life(value: Any) -> str:
    """Return the pointer of the token's life in seconds; "" without one, or where two differ."""
    found = {
        pointer: int(each)
        for pointer, each in leaves(value)
        if _LIFE.search(pointer) and "refresh" not in pointer.lower()
        if type(each) is int or (isinstance(each, str) and each.isascii() and each.isdigit() and len(each) < _DIGITS)
        if int(each) in _LIVES
    }
    return min(found, key=len) if len(set(found.values())) == 1 else ""


def _texts(value: Any, depth: int = 6, *, is_listed: bool = False) -> Iterator[str]:
    """Yield sentences, elements of lists, and names of members that hold lists: where refusals name fields."""
    if isinstance(value, dict) and depth:
        for key, each in value.items():
            if isinstance(each, list):
                yield key
            yield from _texts(each, depth - 1)
    elif isinstance(value, list) and depth:
        for each in value[:50]:
            yield from _texts(each, depth - 1, is_listed=True)
    elif isinstance(value, str) and (is_listed or " " in value):
        yield value[:500]
