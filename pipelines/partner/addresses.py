"""Make httpx's addresses and headers for many requests to one service, at a fraction of what httpx takes for each.

httpx parses and encodes the whole address of every request, and every header: two fifths of what a request costs
outside of aiohttp. Here the service's part is parsed once. Knows nothing of tokens and paths.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = re.compile(r"(?:/[\w.~-]+)+", re.ASCII)  # a path of which no character needs to be encoded
_DOTS = re.compile(r"/\.\.?(?:/|$)")  # parts that httpx would resolve


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

    def headers(self, headers: Mapping[str, str]) -> httpx.Headers:
        """Return these headers with the service's name, which httpx otherwise adds to each request."""
        return httpx.Headers({"Host": self._base.netloc.decode("ascii"), **headers})
