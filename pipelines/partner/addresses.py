"""Make httpx's addresses and headers for many requests to one service, at a fraction of what httpx takes for each.

httpx parses and encodes the whole address of every request, and every header: two fifths of what a request costs
outside of aiohttp. Here the service's part is parsed once. Knows nothing of paths and of what a token is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = re.compile(r"(?:/[\w.~-]+)+", re.ASCII)  # a path of which no character needs to be encoded
_DOTS = re.compile(r"/\.\.?(?:/|$)")  # parts that httpx would resolve


class Headers:
    """The headers of all requests with one token, which no text of this object shows."""

    __slots__ = ("_httpx", "token")

    def __init__(self, token: object, headers: httpx.Headers) -> None:
        self.token = token
        self._httpx = headers

    def of(self, url: httpx.URL) -> httpx.Request:
        """Return a request for a document."""
        request = httpx.Request("GET", url, headers=self._httpx)
        request.headers.encoding = "ascii"  # else httpx tries each of them, for each that is read
        return request


class Addresses:
    """Addresses below one base address, as httpx.URL makes them."""

    def __init__(self, base: str) -> None:
        self._text = base.rstrip("/")
        self._base = httpx.URL(self._text)

    def url(self, text: str) -> httpx.URL:
        """Return the address that `text` is."""
        path = text.removeprefix(self._text)
        if path == text or not _PLAIN.fullmatch(path) or _DOTS.search(path):
            return httpx.URL(text)
        url = httpx.URL(self._base)
        parsed = url._uri_reference  # noqa: SLF001 -- copy_with parses everything again
        url._uri_reference = parsed._replace(path=f"{parsed.path.rstrip('/')}{path}")  # noqa: SLF001 -- the same
        return url

    def headers(self, token: object, headers: Mapping[str, str]) -> Headers:
        """Return these headers with the service's name, which httpx otherwise adds to each request."""
        return Headers(token, httpx.Headers({"Host": self._base.netloc.decode("ascii"), **headers}))
