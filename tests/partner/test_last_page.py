"""A list that ends early is never silent: signs outside the records say that more follows."""

from __future__ import annotations

import json

import pytest

from pipelines.partner.listing import sign_of_more

RECORDS = [{"id": number, "next": "x", "total": 99, "has_more": True} for number in range(7)]


def sign(body: object, pagination: str = "none", items: str = "/stores", pages: int = 1) -> str:
    """Return the sign on a last page with seven stores."""
    return sign_of_more(json.dumps(body).encode(), items, pagination=pagination, pages=pages, stores=7)


@pytest.mark.parametrize(
    "envelope",
    [
        {"next_cursor": "abc"},
        {"nextCursor": 17},
        {"next": "https://x.invalid/2"},
        {"meta": {"next_page_token": "t"}},
        {"meta": {"pagination": {"next-page": 2}}},
        {"_links": {"next": {"href": "/stores?page=2"}}},
        {"links": {"next": "/stores?page=2"}},
        {"cursor": "Zm9v"},
        {"paging": {"cursor": "x"}},
        {"has_more": True},
        {"hasNextPage": True},
        {"page_info": {"has_next_page": True}},
        {"last": False},
        {"total_pages": 3},
        {"meta": {"pageCount": 2}},
        {"paging": {"pages": 2}},
        {"total": 36},
        {"count": 36},
        {"total": "36"},
        {"meta": {"total_count": 8}},
        {"pagination": {"totalItems": 8}},
        {"page": {"total_elements": 36, "size": 7}},
    ],
)
def test_a_page_that_says_more_is_noticed(envelope: dict[str, object]) -> None:
    """What public services write where a list goes on is found, and its place is named."""
    said = sign({**envelope, "stores": RECORDS})
    place = next(iter(envelope))
    assert f"/{place}" in said
    assert "abc" not in said


@pytest.mark.parametrize(
    "envelope",
    [
        {},
        {"next": None},
        {"next_cursor": ""},
        {"has_more": False},
        {"last": True},
        {"total": 7},
        {"count": 7, "total": 7, "pages": 1},
        {"total": "7"},
        {"meta": {"page": 1, "total_pages": 1}},
        {"statistics": {"total": 4711}},  # of something else
        {"request_id": "total", "took": 12},
        {"stores_url": "https://x.invalid/next"},
        {"warnings": ["next"]},
        {"meta": {"a": {"b": {"next": "too deep"}}}},
    ],
)
def test_a_whole_list_is_not_doubted(envelope: dict[str, object]) -> None:
    """Members of the records, empty cursors and totals that agree are no signs."""
    assert sign({**envelope, "stores": RECORDS}) == ""


def test_a_cursor_counts_only_without_pagination() -> None:
    """A cursor on a last page that the settings follow is no sign; a total above the stores always is."""
    assert sign({"cursor": "x", "stores": RECORDS}, pagination="page") == ""
    assert "36 stores" in sign({"total": 36, "stores": RECORDS}, pagination="page", pages=9)


def test_a_bare_array_has_no_signs() -> None:
    """A list without an envelope says nothing about its end; neither do bytes that are no JSON."""
    assert sign(RECORDS, items="") == ""
    assert sign_of_more(b"\xff{", "", pagination="none", pages=1, stores=0) == ""
