"""The list of stores: all pages, or an error; never a part in silence."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.partner.client import PartnerClient
from pipelines.partner.exchange import ListingBroken
from pipelines.partner.listing import LinkError, targets

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.partner.pacing import Clock

AUTHENTICATE = "/v1/partner_developers/authenticate"
PATH = "/v1/partner_developers/stores"
STORES = [{"id": number} for number in range(1, 8)]


def _list(
    jump: Any,
    settings: Any,
    answer: Callable[..., httpx.Response],
    page: Callable[[httpx.QueryParams], Any],
) -> tuple[list[list[Any]], list[httpx.URL]]:
    """List the stores of a service whose pages `page` makes of the query; return pages and addresses."""
    urls: list[httpx.URL] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == AUTHENTICATE:
            return answer(body={"access_token": "t"})
        urls.append(request.url)
        made = page(request.url.params)
        return made if isinstance(made, httpx.Response) else answer(body=made)

    async def main(clock: Clock) -> list[list[Any]]:
        async with PartnerClient(settings, transport=httpx.MockTransport(handle), clock=clock) as client:
            return [[json.loads(record) for record in records] async for records in client.list_stores()]

    return jump(main), urls


def _flat(pages: list[list[Any]]) -> list[Any]:
    return [record for page in pages for record in page]


def test_one_page(jump: Any, partner: Any, answer: Any) -> None:
    """Without paging the body is the list, each record in its own words."""
    pages, urls = _list(jump, partner(), answer, lambda _: STORES)
    assert pages == [STORES]
    assert [url.path for url in urls] == [PATH]


def test_records_keep_their_text(jump: Any, partner: Any, answer: Any) -> None:
    """A record is handed on as written: numbers, order, repeated keys and spaces."""
    record = b'{"id": 1.0e0,  "a":1, "a":2, "n": 0.10}'

    async def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == AUTHENTICATE:
            return answer(body={"access_token": "t"})
        return answer(body=b"[" + record + b"]")

    async def main(clock: Clock) -> list[bytes]:
        async with PartnerClient(partner(), transport=httpx.MockTransport(handle), clock=clock) as client:
            return [found async for page in client.list_stores() for found in page]

    assert jump(main) == [record]


def test_items_in_an_envelope(jump: Any, partner: Any, answer: Any) -> None:
    """The pointer leads to the list."""
    settings = partner(list_stores={"items_pointer": "/data/stores"})
    assert _list(jump, settings, answer, lambda _: {"data": {"stores": STORES}})[0] == [STORES]


@pytest.mark.parametrize(
    ("pointer", "body"),
    [
        ("", {"data": []}),
        ("", "text"),
        ("", None),
        ("/data", []),
        ("/data", {"items": []}),
        ("/data", {"data": None}),
        ("/data", {"data": {"1": {}}}),
        ("/data/list", {"data": []}),
    ],
)
def test_another_envelope_is_an_error(jump: Any, partner: Any, answer: Any, pointer: str, body: Any) -> None:
    """An envelope other than in the settings is refused, by the setting's name."""
    with pytest.raises(ListingBroken, match="items_pointer"):
        _list(jump, partner(list_stores={"items_pointer": pointer}), answer, lambda _: body)


@pytest.mark.parametrize(("status", "says"), [(404, "404"), (403, "403"), (500, "500"), (302, "redirects")])
def test_no_list_is_an_error(jump: Any, partner: Any, answer: Any, status: int, says: str) -> None:
    """A list that cannot be had is an error, not an empty list."""
    with pytest.raises(ListingBroken, match=says):
        _list(jump, partner(max_attempts=2), answer, lambda _: answer(status))


def test_a_next_page_nobody_expected(jump: Any, partner: Any, answer: Any) -> None:
    """Without paging, a Link to a next page is an error: the rest would be lost."""
    with pytest.raises(ListingBroken, match="next page"):
        _list(jump, partner(), answer, lambda _: answer(body=STORES, link=f'<{PATH}?page=2>; rel="next"'))


def _linked(answer: Any, where: str) -> Callable[[httpx.QueryParams], Any]:
    def page(query: httpx.QueryParams) -> Any:
        start = int(query.get("from", 0))
        if start >= 6:
            return answer(body=STORES[start:], link=f'<{PATH}>; rel="first"')
        return answer(body=STORES[start : start + 3], link=f'<{PATH}>; rel="first", <{where}{start + 3}>; rel=next')

    return page


@pytest.mark.parametrize("where", [f"http://partner.test{PATH}?from=", f"{PATH}?from=", "?from=", "stores?from="])
def test_by_link(jump: Any, partner: Any, answer: Any, where: str) -> None:
    """Link headers are followed to the last page, absolute or relative."""
    settings = partner(list_stores={"pagination": "link"})
    pages, urls = _list(jump, settings, answer, _linked(answer, where))
    assert _flat(pages) == STORES
    assert len(urls) == 3


@pytest.mark.parametrize(
    ("link", "says"),
    [
        (f'<{PATH}>; rel="next"', "already"),
        ("<http://elsewhere.test/stores?page=2>; rel=next", "another host"),
        ("<//elsewhere.test/stores?page=2>; rel=next", "another host"),
        ("<https://partner.test/stores?page=2>; rel=next", "another host"),
        ("<http://partner.test:81/stores?page=2>; rel=next", "another host"),
        ("<http://partner.test@elsewhere.test/?page=2>; rel=next", "another host"),
        ("<?page=2>; rel=next, <?page=3>; rel=next", "two next pages"),
        ("page=2", "cannot be read"),
        ("<?page=2", "cannot be read"),
        (f"<?page={'2' * 70_000}>; rel=next", "address that cannot be requested"),
        ("<http://partner.test/\x1b[31m>; rel=next", "address that cannot be requested"),
    ],
    ids=range(11),
)
def test_a_link_that_cannot_be_followed(jump: Any, partner: Any, answer: Any, link: str, says: str) -> None:
    """A repeated, foreign, doubled or broken link is an error, and the token goes nowhere."""
    settings = partner(list_stores={"pagination": "link"})
    asked: list[str] = []

    def page(_: httpx.QueryParams) -> Any:
        asked.append("page")
        return answer(body=STORES, link=link)

    with pytest.raises(ListingBroken, match=says):
        _list(jump, settings, answer, page)
    assert len(asked) == 1


def _by_cursor(end: Any) -> Callable[[httpx.QueryParams], Any]:
    def page(query: httpx.QueryParams) -> Any:
        start = {None: 0, "a&b=c": 3, "z": 6}[query.get("after")]
        return {"data": STORES[start : start + 3], "meta": {"next": {0: "a&b=c", 3: "z", 6: end}[start]}}

    return page


CURSOR = {
    "items_pointer": "/data",
    "pagination": "cursor",
    "cursor_pointer": "/meta/next",
    "cursor_parameter": "after",
}


@pytest.mark.parametrize("end", [None, "", False])
def test_by_cursor(jump: Any, partner: Any, answer: Any, end: Any) -> None:
    """Cursors are followed, escaped, until the page says that there is none."""
    pages, urls = _list(jump, partner(list_stores=CURSOR), answer, _by_cursor(end))
    assert _flat(pages) == STORES
    assert [url.params.get("after") for url in urls] == [None, "a&b=c", "z"]


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("a&b=c", "already"),
        ([], "not a cursor"),
        ({}, "not a cursor"),
        (True, "true"),
        ("a" * 70_000, "cannot be requested"),
    ],
    ids=range(5),
)
def test_a_bad_cursor(jump: Any, partner: Any, answer: Any, end: Any, says: str) -> None:
    """A repeated cursor, and a value that is no cursor, are errors."""
    with pytest.raises(ListingBroken, match=says):
        _list(jump, partner(list_stores=CURSOR), answer, _by_cursor(end))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"\xff": 1, "data": []}', "leads to nothing"),
        (b'{"data": [], "meta": {"\xff": 1}}', "leads to nothing"),
        (b'{"data": [], "meta": {"next": "\xff"}}', "not a cursor"),
        (b'{"data": [], "meta": {"next": %s}}' % (b"9" * 5000), "not a cursor"),
    ],
)
def test_bytes_that_are_no_text(jump: Any, partner: Any, answer: Any, body: bytes, says: str) -> None:
    """A page with bytes that are no UTF-8, or an endless number, is a broken list and no crash."""
    with pytest.raises(ListingBroken, match=says):
        _list(jump, partner(list_stores=CURSOR), answer, lambda _: answer(body=body))


@pytest.mark.parametrize("meta", [{"data": STORES}, {"data": STORES, "meta": {}}, {"data": STORES, "meta": None}])
def test_a_missing_cursor(jump: Any, partner: Any, answer: Any, meta: Any) -> None:
    """A page that says nothing of a next one is an error: the last one says null."""
    with pytest.raises(ListingBroken, match="leads to nothing"):
        _list(jump, partner(list_stores=CURSOR), answer, lambda _: meta)


@pytest.mark.parametrize("first", [0, 1])
def test_by_page_number(jump: Any, partner: Any, answer: Any, first: int) -> None:
    """Pages are counted from the first one to the first empty one."""
    settings = partner(list_stores={"pagination": "page", "cursor_parameter": "p", "first_page": first})
    pages, urls = _list(jump, settings, answer, lambda q: STORES[3 * (int(q["p"]) - first) :][:3])
    assert _flat(pages) == STORES
    assert [url.params["p"] for url in urls] == [str(first + step) for step in range(4)]


def test_pages_that_name_the_next(jump: Any, partner: Any, answer: Any) -> None:
    """Where a page names the next one's number, that is asked for, and null is the end."""
    settings = partner(
        list_stores={**CURSOR, "pagination": "page", "cursor_parameter": "page", "cursor_pointer": "/next"}
    )
    made = {None: (STORES[:4], 2), "2": (STORES[4:], None)}

    def page(query: httpx.QueryParams) -> Any:
        records, following = made[query.get("page")]
        return {"data": records, "next": following}

    assert _flat(_list(jump, settings, answer, page)[0]) == STORES


def test_a_page_number_that_is_not_heeded(jump: Any, partner: Any, answer: Any) -> None:
    """A service that gives the same page for each number would be listed for ever: an error."""
    settings = partner(list_stores={"pagination": "page", "cursor_parameter": "p"})
    with pytest.raises(ListingBroken, match="same page"):
        _list(jump, settings, answer, lambda _: STORES)


def _endless(records: Callable[[int], list[Any]]) -> Callable[[httpx.QueryParams], Any]:
    """Serve a list that always names another page."""

    def page(query: httpx.QueryParams) -> Any:
        no = int(query.get("after", 0))
        return {"data": records(no), "meta": {"next": no + 1}}

    return page


@pytest.mark.parametrize("again", [lambda _: STORES, lambda no: [{"id": 1 + no % 3, "at": no}], lambda _: []])
def test_pages_that_bring_nothing_new(jump: Any, partner: Any, answer: Any, again: Callable[[int], list[Any]]) -> None:
    """A list that names ever new pages of the same stores, or of none, ends; the error says why."""
    with pytest.raises(ListingBroken, match=r"10 pages in a row, up to page 1[0-3], bring no store"):
        _list(jump, partner(list_stores=CURSOR), answer, _endless(again))


def test_a_few_pages_without_news(jump: Any, partner: Any, answer: Any) -> None:
    """Nine pages in a row that bring nothing new do not end a list: the tenth may."""
    made = {0: STORES[:3], 10: STORES[3:], 11: STORES[:1], 20: STORES}

    def page(query: httpx.QueryParams) -> Any:
        no = int(query.get("after", 0))
        return {"data": made.get(no, []), "meta": {"next": no + 1 if no < 20 else None}}

    pages, _ = _list(jump, partner(list_stores=CURSOR), answer, page)
    assert len(pages) == 21


@pytest.mark.parametrize(
    ("limit", "seconds", "says"),
    [({"max_pages": 40}, 0.0, "after 40 pages"), ({"max_seconds": 90.0}, 10.0, r"after 90 s and 10 pages")],
)
@pytest.mark.promise(11)
def test_a_list_that_does_not_end(
    jump: Any, partner: Any, answer: Any, limit: dict[str, Any], seconds: float, says: str
) -> None:
    """A list with a new store on each of endless pages ends at the limit of pages, or of time."""
    asked: list[int] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == AUTHENTICATE:
            return answer(body={"access_token": "t"})
        asked.append(int(request.url.params.get("after", 0)))
        await asyncio.sleep(seconds)
        return answer(body={"data": [{"id": asked[-1]}], "meta": {"next": asked[-1] + 1}})

    async def main(clock: Clock) -> None:
        settings = partner(list_stores={**CURSOR, **limit})
        async with PartnerClient(settings, transport=httpx.MockTransport(handle), clock=clock) as client:
            async for _ in client.list_stores():
                pass

    with pytest.raises(ListingBroken, match=says):
        jump(main)
    assert len(asked) == (40 if "max_pages" in limit else 10)


@given(st.integers(0, 60), st.integers(1, 9), st.sampled_from(["link", "cursor", "page"]))
def test_every_store_once(makers: Any, stores: int, size: int, pagination: str) -> None:
    """Whatever the number of stores, the size of a page and the way of paging: each store once, in order."""
    jump, partner, answer = makers
    every = [{"id": number} for number in range(stores)]
    settings = partner(
        list_stores={
            "items_pointer": "/data",
            "pagination": pagination,
            "cursor_pointer": "/next" if pagination == "cursor" else "",
            "cursor_parameter": "at",
        }
    )

    def page(query: httpx.QueryParams) -> Any:
        at = int(query.get("at", 0))
        start = (at - 1) * size if pagination == "page" else at
        more = start + size < stores
        link = {"link": f'<?at={start + size}>; rel="next"'} if more and pagination == "link" else {}
        return answer(body={"data": every[start : start + size], "next": start + size if more else None}, **link)

    assert _flat(_list(jump, settings, answer, page)[0]) == every


@pytest.fixture(scope="module")
def makers(request: pytest.FixtureRequest) -> Any:
    """Give the makers to a Hypothesis test: they keep nothing between examples."""
    return [request.getfixturevalue(name) for name in ("jump", "partner", "answer")]


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", []),
        ("<a>; rel=next", ["a"]),
        ('<a>; rel="next"', ["a"]),
        ('<a>;rel="prev next"', ["a"]),
        ("<a>; REL=NEXT", ["a"]),
        ('<a,b;c>; title="x, <y>; rel=next"; rel=next', ["a,b;c"]),
        (r'<a>; title="\"q\", <b>; rel=next"; rel="prev"', []),
        ("<a>; rel=prev, <b>; rel=next , <c>; rel=last", ["b"]),
        (",, <a>; rel=next,,", ["a"]),
        ("<a>; rel=prev; rel=next", []),
        ('<a>; rel=next; anchor="#foo"', []),
        ("<a>; rel=nextpage", []),
        ("<>; rel=next", [""]),
        ("<a>; crossorigin; rel=next", ["a"]),
        ("<a>", []),
    ],
)
def test_link_headers(header: str, found: list[str]) -> None:
    """Link headers are read as RFC 8288 writes them."""
    assert targets((header,), "next") == found


@pytest.mark.parametrize("header", ["a; rel=next", "<a; rel=next", "<a> rel=next", '<a>; rel="next'])
def test_what_is_no_link_header(header: str) -> None:
    """A header that is no link is an error, not an end."""
    with pytest.raises(LinkError):
        targets((header,), "next")


def _page_of(first: int) -> list[dict[str, int]]:
    return STORES[first : first + 3]


@pytest.mark.parametrize(
    ("how", "page", "requests"),
    [
        (
            {"pagination": "offset", "cursor_parameter": "offset", "items_pointer": "/d", "query": {"limit": "3"}},
            lambda query: {"d": _page_of(int(query.get("offset", "0")))} if query["limit"] == "3" else {"d": []},
            ["limit=3&offset=0", "limit=3&offset=3", "limit=3&offset=6", "limit=3&offset=7"],
        ),
        (
            {"pagination": "next_url", "cursor_pointer": "/next", "cursor_is_optional": True, "items_pointer": "/d"},
            lambda query: {
                "d": _page_of(at := int(query.get("at", "0"))),
                **({"next": f"?at={at + 3}"} if at < 6 else {}),
            },
            ["", "at=3", "at=6"],
        ),
        (
            {"pagination": "next_url", "cursor_pointer": "/next", "items_pointer": "/d"},
            lambda query: {
                "d": _page_of(at := int(query.get("at", "0"))),
                "next": f"http://partner.test{PATH}?at={at + 3}" if at < 6 else None,
            },
            ["", "at=3", "at=6"],
        ),
        (
            {
                "pagination": "last_id",
                "cursor_pointer": "/has_more",
                "cursor_parameter": "starting_after",
                "items_pointer": "/d",
            },
            lambda query: {
                "d": _page_of(at := int(query.get("starting_after", "0"))),
                "has_more": at < 6,
            },
            ["", "starting_after=3", "starting_after=6"],
        ),
        (
            {
                "pagination": "cursor",
                "cursor_pointer": "/cursor",
                "cursor_is_optional": True,
                "cursor_parameter": "cursor",
                "items_pointer": "/d",
            },
            lambda query: {
                "d": _page_of(at := int(query.get("cursor", "0"))),
                **({"cursor": at + 3} if at < 6 else {}),
            },
            ["", "cursor=3", "cursor=6"],
        ),
    ],
    ids=["offset", "relative url", "absolute url", "last id", "absent cursor"],
)
def test_habits_of_public_services(
    jump: Any, partner: Any, answer: Any, how: dict[str, Any], page: Any, requests: list[str]
) -> None:
    """Offsets, addresses in the body, the last record's id and a cursor that the last page lacks reach every store."""
    pages, urls = _list(jump, partner(list_stores=how), answer, page)
    assert _flat(pages) == STORES
    assert [url.query.decode() for url in urls] == requests


@pytest.mark.parametrize(
    ("how", "body", "complaint"),
    [
        (
            {"pagination": "next_url", "cursor_pointer": "/next"},
            {"next": "https://other.test/x", "d": []},
            "another host",
        ),
        ({"pagination": "next_url", "cursor_pointer": "/next"}, {"d": STORES}, "leads to nothing"),
        (
            {"pagination": "last_id", "cursor_pointer": "/more", "cursor_parameter": "after"},
            {"more": True, "d": [{"number": 1}]},
            "has no id",
        ),
        (
            {"pagination": "offset", "cursor_parameter": "skip"},
            {"d": STORES},
            "return the same page",
        ),
        (
            {"pagination": "cursor", "cursor_pointer": "/c", "cursor_is_optional": True, "cursor_parameter": "c"},
            {"d": STORES, "has_more": True},
            "more stores follow",
        ),
    ],
    ids=["other host", "absent address", "no last id", "offset ignored", "absent cursor, more"],
)
def test_lists_that_end_too_early_are_errors(
    jump: Any, partner: Any, answer: Any, how: dict[str, Any], body: Any, complaint: str
) -> None:
    """A next page elsewhere, an absent address, a page without ids or an ignored parameter is an error."""
    with pytest.raises(ListingBroken, match=complaint):
        _list(jump, partner(list_stores={"items_pointer": "/d", **how}), answer, lambda _: body)
