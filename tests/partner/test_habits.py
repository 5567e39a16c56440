"""Habits of services: tokens that expire unsaid, marks before texts, totals in headers."""

from __future__ import annotations

import asyncio
import codecs
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.partner.client import fetch_all
from pipelines.partner.exchange import ListingBroken
from pipelines.partner.listing import sign_of_more

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from pipelines.partner.pacing import Clock

FIELDS = {"orders": frozenset({"id"})}
ERROR = {"error": "the token has expired"}
PAGE = b"<html>Sign in</html>"
EXPIRIES: dict[str, tuple[int, Any, dict[str, str]]] = {
    "400": (400, ERROR, {}),
    "403": (403, ERROR, {}),
    "419": (419, ERROR, {}),
    "440": (440, ERROR, {}),
    "498": (498, ERROR, {}),
    "499": (499, ERROR, {}),
    "an error as 200": (200, ERROR, {}),
    "a page as 200": (200, PAGE, {"content_type": "text/html"}),
    "a redirect to the login": (302, b"", {"location": "/login"}),
    "401": (401, ERROR, {}),
}


@pytest.fixture
def fetch(jump: Any, partner: Any, fake: Any, client: Any) -> Callable[..., tuple[Any, Any, list[Any]]]:
    """Fetch so many orders after a store list, of a service that answers what `serve` says."""

    def run(serve: Any, count: int) -> tuple[Any, Any, list[Any]]:
        service = fake(serve, expires_in=None)

        async def main(clock: Clock) -> tuple[Any, list[Any]]:
            async with client(partner(), service, clock, fields=FIELDS) as asking:
                async for _ in asking.list_stores():
                    pass
                return asking, [found async for found in fetch_all(asking, "orders", range(1, count + 1))]

        return service, *jump(main)

    return run


def _good(request: httpx.Request, answer: Any) -> httpx.Response:
    last = request.url.path.rsplit("/", 1)[1]
    return answer(body=[] if last == "stores" else {"id": int(last)})


@pytest.mark.parametrize("habit", EXPIRIES)
def test_an_expired_token_is_renewed_however_the_service_says_so(fetch: Any, answer: Any, habit: str) -> None:
    """A token that is good for 30 requests serves 100 orders by few renewals, and the client says what it learned."""
    uses: dict[str, int] = {}
    status, body, headers = EXPIRIES[habit]

    async def serve(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.1)
        token = request.headers["authorization"]
        uses[token] = uses.get(token, 0) + 1
        return _good(request, answer) if uses[token] <= 30 else answer(status, body, **headers)

    service, asking, found = fetch(serve, 100)
    assert {each.status for each in found} == {200}
    assert service.tokens <= 8
    assert len(asking.expiries) == (habit != "401")


def test_a_forbidden_id_costs_no_token(fetch: Any, answer: Any) -> None:
    """Every tenth id is forbidden: each fails alone, with the token that the others are answered with."""

    async def serve(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.1)
        last = request.url.path.rsplit("/", 1)[1]
        return answer(403, ERROR) if last.endswith("0") else _good(request, answer)

    service, asking, found = fetch(serve, 200)
    assert sorted(each.id for each in found if each.status == 403) == list(range(10, 201, 10))
    assert (service.tokens, asking.expiries) == (1, set())
    assert service.asked <= 201 + 20


def test_a_kind_that_is_forbidden_as_a_whole_costs_few_requests(fetch: Any, answer: Any) -> None:
    """Of 400 forbidden orders each is asked for once; the list is asked again a few times, for no new token."""

    async def serve(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.1)
        return _good(request, answer) if request.url.path.endswith("stores") else answer(403, ERROR)

    service, asking, found = fetch(serve, 400)
    assert {each.status for each in found} == {403}
    assert (service.tokens, asking.expiries) == (1, set())
    assert service.asked <= 401 + 40


def test_a_new_token_that_does_not_help_either_is_asked_for_once(fetch: Any, answer: Any) -> None:
    """Where everything is forbidden from the 20th request on, one more token is asked for, and no more."""
    asked = 0

    async def serve(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked, number = asked + 1, asked + 1
        await asyncio.sleep(0.1)
        return _good(request, answer) if number <= 20 else answer(403, ERROR)

    service, asking, found = fetch(serve, 100)
    assert sum(each.status == 403 for each in found) == 81
    assert (service.tokens, asking.expiries) == (2, set())


def test_a_list_of_ten_thousand_levels_is_said_to_be_one(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any
) -> None:
    """Neither its JSON nor the pointer to its items is blamed."""

    async def serve(_: httpx.Request) -> httpx.Response:
        return answer(body=b"[" * 10_000 + b"]" * 10_000)

    async def main(clock: Clock) -> Any:
        async with client(partner(), fake(serve), clock) as asking:
            return [page async for page in asking.list_stores()]

    with pytest.raises(ListingBroken, match="more levels than can be read"):
        jump(main)


MARKED = {
    "UTF-8": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "UTF-8, thrice": lambda text: codecs.BOM_UTF8 * 3 + text.encode(),
}


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("mark", MARKED)
def test_a_byte_order_mark_before_an_answer_is_ignored(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, mark: str, is_packed: bool
) -> None:
    """Token, list and orders come as without it, packed or not, and however often a chain of programs wrote one."""

    async def serve(request: httpx.Request) -> httpx.Response:
        last = request.url.path.rsplit("/", 1)[1]
        body = MARKED[mark](json.dumps([{"id": 7}] if last == "stores" else {"id": int(last)}))
        return answer(body=gzip.compress(body), content_encoding="gzip") if is_packed else answer(body=body)

    service = fake(serve)

    async def main(clock: Clock) -> Any:
        async with client(partner(), service, clock, fields=FIELDS) as asking:
            return [page async for page in asking.list_stores()], (await asking.fetch("orders", 3)).body

    assert jump(main) == ([[b'{"id": 7}']], b'{"id": 3}')


@pytest.mark.parametrize("media", ["text/plain; charset=utf-8", "text/javascript", "application/octet-stream"])
def test_a_body_says_whether_it_is_json(fetch: Any, answer: Any, media: str) -> None:
    """JSON is read under the name of any text; a page is none, nor is a text."""

    async def serve(request: httpx.Request) -> httpx.Response:
        last = request.url.path.rsplit("/", 1)[1]
        if last in {"2", "3"}:
            return answer(body=PAGE if last == "2" else b"sorry", content_type=media)
        return answer(body=json.dumps([] if last == "stores" else {"id": int(last)}).encode(), content_type=media)

    _, _, found = fetch(serve, 4)
    assert {each.id: each.code for each in found} == {1: "", 2: "not_json", 3: "not_json", 4: ""}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Total-Count", "36"),
        ("X-Total", "36"),
        ("X-Total-Count", '"36"'),
        ("X-Total-Count", "36, 36"),  # sent twice
        ("X-Total-Count", "1,036"),
        ("Opc-Total-Items", "36"),
        ("X-Ms-Continuation", "t"),
        ("X-Next-Link", "/stores?page=2"),
        ("Total-Count", "36"),
        ("X-Total-Results", "36"),
        ("X-WP-Total", "36"),
        ("X-WP-TotalPages", "4"),
        ("X-Pagination-Total-Count", "36"),
        ("X-Pagination-Page-Count", "4"),
        ("X-Pages", "4"),
        ("X-Total-Pages", "4"),
        ("X-Last-Page", "4"),
        ("X-Result-Count", "36"),
        ("X-List-Total", "36"),
        ("Content-Range", "items 0-6/36"),
        ("Content-Range", "0-6/36"),
        ("X-Content-Range", "stores 0-6/36"),
        ("X-Pagination", '{"totalCount": 36, "pageSize": 7}'),
        ("X-Pagination", '{"total_pages": 4}'),
        ("Pagination", '{"hasNext": true}'),
        ("Paging-Headers", '{"nextPage": "yes"}'),
        ("X-Next-Page", "2"),
        ("X-Next-Cursor", "abc"),
        ("X-Pagination-Next-Page", "2"),
        ("X-Has-More", "true"),
        ("Next-Page-Token", "t"),
        ("X-Continuation-Token", "t"),
    ],
)
def test_a_header_that_says_more_is_believed(name: str, value: str) -> None:
    """What public services say in headers of stores or pages beyond those read is found, and the header is named."""
    said = sign_of_more(b"[]", "", pagination="none", pages=1, stores=7, headers={name.lower(): value})
    assert name.lower() in said
    assert "abc" not in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Total-Count", "7"),
        ("X-WP-TotalPages", "1"),
        ("Content-Range", "items 0-6/7"),
        ("Content-Range", "items 0-6/*"),
        ("Content-Range", "bytes 0-99/4711"),
        ("X-Next-Page", ""),
        ("X-Next-Page", "null"),
        ("X-Has-More", "false"),
        ("X-Pagination", '{"totalCount": 7, "totalPages": 1, "nextPageLink": ""}'),
        ("X-Pagination", "{broken"),
        ("X-RateLimit-Total", "5000"),
        ("X-Total-Time", "4711"),
        ("X-Request-Count", "4711"),
        ("Content-Length", "4711"),
        ("X-Per-Page", "100"),
        ("Count", "4711"),
    ],
)
def test_a_header_that_says_nothing_of_the_list_is_none(name: str, value: str) -> None:
    """Totals that agree, empty links and figures of other things are no signs."""
    assert sign_of_more(b"[]", "", pagination="none", pages=1, stores=7, headers={name.lower(): value}) == ""


@pytest.mark.parametrize(
    ("headers", "is_whole"),
    [
        ({"X_Total_Count": "7"}, False),
        ({"link": '<?page=4>; rel="last"'}, False),
        ({"link": '<?page=1>; rel="last", <?page=1>; rel="first"'}, True),
        ({"X_Total_Count": "2"}, True),
    ],
)
def test_a_list_that_its_headers_contradict_is_refused(
    jump: Any, partner: Any, fake: Any, client: Any, answer: Any, headers: dict[str, str], is_whole: bool
) -> None:
    """Two stores of seven are not taken for all, where an answer says that there are more."""

    async def serve(_: httpx.Request) -> httpx.Response:
        return answer(body=[{"id": 1}, {"id": 2}], **headers)

    async def main(clock: Clock) -> Any:
        async with client(partner(), fake(serve), clock) as asking:
            return [page async for page in asking.list_stores()]

    if is_whole:
        assert len(jump(main)) == 1
    else:
        with pytest.raises(ListingBroken, match=r"x-total-count|last page"):
            jump(main)
