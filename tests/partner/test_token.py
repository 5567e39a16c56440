"""One token for everybody: how it is asked for, read, renewed, and when a run ends over it."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import httpx
import pytest

from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.partner.exchange import AuthenticationFailed, Fetched, PartnerMisconfigured, ServiceDown, TokenRefused
from pipelines.partner.pacing import Clock
from pipelines.partner.token import read_token
from pipelines.settings import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

EXPIRES = datetime(2026, 11, 20, 3, 16, 40, tzinfo=UTC).timestamp()  # 100 s after the tests' clock starts
AUTHENTICATE = "/v1/partner_developers/authenticate"


def _jwt(**claims: Any) -> str:
    parts = ({"alg": "none"}, claims)
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, "signature"])


def _seen(
    jump: Callable[..., Any],
    settings: Any,
    answer: Callable[..., httpx.Response],
    token: Any = None,
    *,
    orders: int = 1,
    apart: float = 0.0,
) -> list[httpx.Request]:
    """Ask for orders, `apart` seconds apart, of a service that gives `token`; return what it saw."""
    requests: list[httpx.Request] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if request.url.path.startswith("/v1/partner_developers/orders/"):
            return answer(body={"id": 1})
        return answer(body={"access_token": "the-token"} if token is None else token)

    async def main(clock: Clock) -> None:
        async with PartnerClient(settings, transport=httpx.MockTransport(handle), clock=clock) as client:
            for id_ in range(orders):
                await client.fetch("orders", id_)
                await clock.sleep(apart)

    jump(main)
    return requests


def test_json_body(jump: Any, partner: Any, answer: Any) -> None:
    """The body's template is filled, each place once, and sent as JSON."""
    body = {"id": "{client_id}", "both": "{client_id}:{client_secret}", "grant": "client"}
    settings = partner(authenticate={"body": body}, client_id=Secret("{client_secret}"), client_secret=Secret("ß"))
    asked = _seen(jump, settings, answer)[0]
    assert (asked.method, asked.headers["content-type"]) == ("POST", "application/json")
    assert json.loads(asked.content) == {"id": "{client_secret}", "both": "{client_secret}:ß", "grant": "client"}


def test_form_body(jump: Any, partner: Any, answer: Any) -> None:
    """The template goes out form-encoded."""
    settings = partner(authenticate={"encoding": "form"}, client_secret=Secret("a&b=c d"))
    asked = _seen(jump, settings, answer)[0]
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qs(asked.content.decode()) == {"client_id": ["id"], "client_secret": ["a&b=c d"]}


def test_basic(jump: Any, partner: Any, answer: Any) -> None:
    """Credentials go into the Authorization header, and the body, without them, as a form."""
    settings = partner(authenticate={"encoding": "basic", "body": {"grant_type": "client_credentials"}})
    asked = _seen(jump, settings, answer)[0]
    assert base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")) == b"id:secret"
    assert asked.content == b"grant_type=client_credentials"


def test_headers(jump: Any, partner: Any, answer: Any) -> None:
    """The template's members are headers of an empty request."""
    body = {"X-Client-Id": "{client_id}", "X-Client-Secret": "{client_secret}"}
    asked = _seen(jump, partner(authenticate={"encoding": "headers", "body": body}), answer)[0]
    assert (asked.method, asked.content) == ("POST", b"")
    assert (asked.headers["x-client-id"], asked.headers["x-client-secret"]) == ("id", "secret")


@pytest.mark.parametrize(
    ("header", "scheme", "value"), [("X-Api-Key", "", "secret"), ("Authorization", "Key", "Key secret")]
)
def test_secret_as_token(jump: Any, partner: Any, answer: Any, header: str, scheme: str, value: str) -> None:
    """Without a login nothing but the order is requested, with the secret as its token."""
    settings = partner(authenticate={"encoding": "none", "header": header, "scheme": scheme}, client_id=Secret(""))
    asked = _seen(jump, settings, answer)
    assert [request.headers[header] for request in asked] == [value]


@pytest.mark.parametrize(
    ("status", "named"),
    [
        (400, "body"),
        (401, "client_secret"),
        (403, "may do"),
        (404, "path"),
        (405, "path"),
        (415, "encoding"),
        (422, "body"),
    ],
)
def test_refused_login_names_what_is_likely(jump: Any, partner: Any, answer: Any, status: int, named: str) -> None:
    """A refusal says which of path, encoding, fields and credentials to check first."""

    async def handle(_: httpx.Request) -> httpx.Response:
        return answer(status, {"error": "no"})

    async def main(clock: Clock) -> None:
        async with PartnerClient(partner(), transport=httpx.MockTransport(handle), clock=clock) as client:
            await client.fetch("orders", 1)

    with pytest.raises(AuthenticationFailed, match=f"answers {status}: check .*{named}"):
        jump(main)


@pytest.mark.parametrize(
    ("header", "scheme", "value"),
    [
        ("Authorization", "Bearer", "Bearer the-token"),
        ("Authorization", "", "the-token"),
        ("X-Key", "JWT", "JWT the-token"),
    ],
)
def test_header_and_scheme(jump: Any, partner: Any, answer: Any, header: str, scheme: str, value: str) -> None:
    """The token goes where the settings say, bare when the scheme is empty."""
    asked = _seen(jump, partner(authenticate={"header": header, "scheme": scheme}), answer)[1]
    assert asked.headers[header] == value
    assert sum("the-token" in text for text in asked.headers.values()) == 1


def test_token_pointer(jump: Any, partner: Any, answer: Any) -> None:
    """The token is found where the pointer says."""
    settings = partner(authenticate={"token_pointer": "/data/0/a~1b"})
    asked = _seen(jump, settings, answer, {"data": [{"a/b": "deep"}]})[1]
    assert asked.headers["authorization"] == "Bearer deep"


@pytest.mark.parametrize(
    ("token", "pointer", "tokens"),
    [
        ({"access_token": "t", "expires_in": 100}, "/expires_in", 5),
        ({"access_token": "t", "expires_in": "100"}, "/expires_in", 5),
        # Renewed a tenth early, and when its time is over; from then on it serves until refused.
        ({"access_token": _jwt(exp=EXPIRES)}, "", 3),
        ({"access_token": "opaque"}, "/expires_in", 1),
        ({"access_token": "a.b.c"}, "", 1),
        ({"access_token": "t", "expires_in": None}, "/expires_in", 1),
        ({"access_token": "t", "expires_in": -5}, "/expires_in", 1),
    ],
)
def test_renewed_by_its_stated_life(
    jump: Any, partner: Any, answer: Any, token: dict[str, Any], pointer: str, tokens: int
) -> None:
    """Ten orders in 450 s need a token of 100 s renewed a tenth early, and one of unknown life once."""
    settings = partner(authenticate={"expires_in_pointer": pointer})
    asked = _seen(jump, settings, answer, token, orders=10, apart=45.0)
    assert sum(request.url.path == AUTHENTICATE for request in asked) == tokens


@pytest.mark.parametrize(
    "body", [{"other": 1}, {"access_token": 5}, {"access_token": ""}, {"access_token": "a\r\nb"}, [], "text"]
)
def test_an_answer_without_a_token(jump: Any, partner: Any, answer: Any, body: Any) -> None:
    """An answer without a usable token ends the run, naming the setting, showing no value."""
    with pytest.raises(AuthenticationFailed, match="token_pointer"):
        _seen(jump, partner(), answer, body)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 301])
def test_refused_credentials_are_not_tried_again(jump: Any, partner: Any, answer: Any, status: int) -> None:
    """A refusal of the credentials ends the run after one request, however many wait for the token."""
    asked: list[str] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        await asyncio.sleep(0.1)
        return answer(status, {"error": "no"})

    async def main(clock: Clock) -> None:
        async with PartnerClient(partner(), transport=httpx.MockTransport(handle), clock=clock) as client:
            got = await asyncio.gather(*(client.fetch("orders", i) for i in range(20)), return_exceptions=True)
            assert {type(error) for error in got} == {AuthenticationFailed}

    jump(main)
    assert asked == [AUTHENTICATE]


@pytest.mark.parametrize("missing", ["client_id", "client_secret"])
@pytest.mark.parametrize("encoding", ["json", "form", "basic", "headers"])
def test_missing_credentials_are_named(jump: Any, partner: Any, answer: Any, missing: str, encoding: str) -> None:
    """Without credentials nothing is sent, and the sentence says what to set."""
    settings = partner(authenticate={"encoding": encoding}, **{missing: Secret("")})
    with pytest.raises(PartnerMisconfigured, match=f"ORDERMART_PARTNER__{missing.upper()}"):
        _seen(jump, settings, answer)


def test_64_simultaneous_401s_ask_for_one_token(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """Sixty-four requests refused at once are all answered after one renewal."""
    service = fake()
    dead: set[str] = set()
    service.refuse = lambda header: header in dead

    async def main(clock: Clock) -> None:
        async with client(partner(max_concurrency=64), service, clock) as asking:
            asking._limit.limit = 64
            await asking.fetch("orders", 0)
            assert service.tokens == 1
            dead.add("Bearer t1")
            before = len(service.seen)
            got = await asyncio.gather(*(asking.fetch("orders", i) for i in range(64)))
            assert [answer.id for answer in got] == list(range(64))
            assert service.tokens == 2
            assert service.statuses[401] == 64
            assert len(service.seen) - before == 64 + 1 + 64

    jump(main)


@pytest.mark.parametrize("refuse_after", [0.0, 0.05, 5.0])
def test_a_second_401_ends_the_run(jump: Any, partner: Any, fake: Any, client: Any, *, refuse_after: float) -> None:
    """A token refused right after its renewal ends the run with one clear sentence, after two tokens."""
    service = fake(refuse=lambda _: True, refuse_after=refuse_after)

    async def main(clock: Clock) -> list[Any]:
        async with (
            client(partner(), service, clock) as asking,
            aclosing(fetch_all(asking, "orders", range(100))) as all_,
        ):
            return [answer async for answer in all_]

    with pytest.raises(TokenRefused, match="401 again"):
        jump(main)
    assert service.tokens == 2
    assert service.asked <= 32


@pytest.mark.parametrize("refused", [{0}, {7}, {199}, set(range(0, 200, 3))])
def test_ids_that_are_always_rejected_fail_alone(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, refused: set[int]
) -> None:
    """An id that is answered with 401 whatever the token ends no run: it fails, others are answered with that token."""
    service = fake()
    working = service.serve

    async def serve(request: httpx.Request) -> httpx.Response:
        response: httpx.Response = await working(request)
        return answer(401) if int(request.url.path.rsplit("/", 1)[1]) in refused else response

    service.serve = serve

    async def main(clock: Clock) -> list[Fetched]:
        async with client(partner(), service, clock) as asking:
            return [found async for found in fetch_all(asking, "orders", range(200))]

    answers = jump(main)
    failed = {found.id: (found.code, found.status) for found in answers if found.code}
    assert failed == dict.fromkeys(refused, ("unauthorized", 401))
    assert len(answers) == 200
    assert service.tokens <= 6  # not one for each
    assert service.asked <= 200 + 4 * len(refused)


def test_credentials_that_are_withdrawn_end_the_run(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """Once all urls are answered with 401, also the one that was answered last, the run ends after one renewal."""
    service = fake()

    async def main(clock: Clock) -> None:
        async with client(partner(), service, clock) as asking:
            for id_ in range(3):
                await asking.fetch("orders", id_)
            service.refuse = lambda _: True
            async for _ in fetch_all(asking, "orders", range(100)):
                raise AssertionError

    with pytest.raises(TokenRefused, match="401 again"):
        jump(main)
    assert service.tokens == 2
    assert service.statuses[401] <= 64


def test_short_lived_tokens_end_nothing(jump: Any, partner: Any, fake: Any, client: Any) -> None:
    """Tokens that die before their stated time are renewed as often as they die."""
    service = fake(expires_in=3600)
    born: dict[str, float] = {}

    async def main(clock: Clock) -> int:
        def refuse(header: str) -> bool:
            return clock.monotonic() - born.setdefault(header, clock.monotonic()) > 0.35

        service.refuse = refuse
        async with client(partner(), service, clock) as asking:
            return sum([answer.status == 200 async for answer in fetch_all(asking, "orders", range(300))])

    assert jump(main) == 300
    assert 2 < service.tokens < 20


def test_a_restart_at_the_start_is_waited_for(jump: Any, partner: Any, fake: Any, client: Any, answer: Any) -> None:
    """A service that is away for the first 40 seconds costs nothing but the time."""
    service = fake()
    respond = service._respond

    async def main(clock: Clock) -> list[Any]:
        async def away(request: httpx.Request) -> httpx.Response:
            return answer(503) if clock.monotonic() < 40 else await respond(request)

        service._respond = away
        async with client(partner(), service, clock) as asking:
            return [end async for end in fetch_all(asking, "orders", range(20))]

    assert len(jump(main)) == 20
    assert service.statuses[503] <= 30


def test_a_service_that_gives_no_token_ends_the_run(jump: Any, partner: Any, answer: Any) -> None:
    """When authenticating only fails, the run ends in under two minutes and within 35 requests."""
    asked: list[str] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        await asyncio.sleep(60)  # longer than the whole request may take
        return answer(503)

    async def main(clock: Clock) -> float:
        async with PartnerClient(partner(), transport=httpx.MockTransport(handle), clock=clock) as asking:
            with pytest.raises(ServiceDown, match="no token"):
                await asking.fetch("orders", 1)
        return clock.monotonic()

    assert jump(main) < 120
    assert 1 < len(asked) <= 35


def test_a_life_is_counted_from_the_request(partner: Any) -> None:
    """Of an answer that took 50 seconds, 50 are over: the service counts from when it issued the token."""
    clock = Clock(monotonic=lambda: 150.0)
    settings = partner(authenticate={"expires_in_pointer": "/expires_in"})
    token = read_token(settings, b'{"access_token": "t", "expires_in": 100}', clock, began=100.0)
    assert token is not None
    assert token.expires_at == 100 + 100 - 10
    assert token.obtained_at == 150
