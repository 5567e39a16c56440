"""Addresses and headers are those that httpx makes."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.partner.addresses import Addresses

BASES = (
    "http://127.0.0.1:8600",
    "https://Example.org",
    "https://example.org:443/partner/v2",
    "https://[::1]:8443/a b/",
)
PATHS = (
    "/order/17",
    "",
    "/",
    "/a//b",
    "/a/../b",
    "/./a",
    "/..",
    "/é",
    "/a b",
    "/a%20b",
    "/a?b=c",
    "/a#b",
    "/~x-y_z.json",
)


def _same(one: httpx.URL, other: httpx.URL) -> bool:
    return (str(one), one.raw_path, one.netloc, one) == (str(other), other.raw_path, other.netloc, other)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("path", PATHS)
def test_an_address_is_that_of_httpx(base: str, path: str) -> None:
    """Whatever the base and the path, also where they are not plain."""
    text = base.rstrip("/") + path
    assert _same(Addresses(base).url(text), httpx.URL(text))


@given(base=st.sampled_from(BASES), path=st.text("/.~a0%?#: é", max_size=8))
def test_any_path_gives_the_address_of_httpx(base: str, path: str) -> None:
    """Characters with a meaning of their own, in any order."""
    text = f"{base.rstrip('/')}/{path}"
    assert _same(Addresses(base).url(text), httpx.URL(text))


def test_an_address_of_another_service_is_taken_as_it_is() -> None:
    """A link may lead elsewhere; whoever sends it decides whether it may."""
    assert str(Addresses("http://one.example").url("http://two.example/list")) == "http://two.example/list"


@pytest.mark.parametrize("base", BASES)
def test_headers_are_those_of_httpx(base: str) -> None:
    """Names, values and their order."""
    headers = {"Accept": "application/json", "Authorization": "Bearer x"}
    prepared = Addresses(base).headers("token", headers).of(httpx.URL(base))
    assert prepared.headers.raw == httpx.Request("GET", base, headers=headers).headers.raw


def test_requests_share_headers_alone() -> None:
    """Each has its own address and extensions, all of them the same headers, read as httpx reads them."""
    headers = Addresses(BASES[0]).headers("token", {"Accept": "application/json"})
    one, other = headers.of(httpx.URL("http://a.example/1")), headers.of(httpx.URL("http://a.example/2"))
    one.extensions["timeout"] = {"connect": 1.0}
    assert (str(one.url), str(other.url), other.extensions) == ("http://a.example/1", "http://a.example/2", {})
    plain = httpx.Request("GET", BASES[0], headers={"Accept": "application/json"})
    assert list(one.headers.items()) == list(plain.headers.items())
    assert (one.method, one.read(), dict(one.headers)) == (plain.method, plain.read(), dict(plain.headers))
