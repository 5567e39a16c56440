"""Read a response's body up to a limit, unpacking gzip within the same limit.

Knows nothing of JSON or of what a body should hold.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_GZIP_OR_ZLIB = 47  # window bits: 32 + 15, the header says which


class BodyError(Exception):
    """A body cannot be read: packed in a way nobody asked for, or cut off while packed."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


async def read_body(response: httpx.Response, encoding: str, limit: int) -> tuple[bytes, bool]:
    """Return the body, whose Content-Encoding is `encoding`, and whether it is over `limit` bytes: then cut above it.

    Raise BodyError for an encoding other than gzip and for a packed body that ends early.
    """
    packing = encoding.strip().lower()
    if packing in {"", "identity"}:
        return await _plain(response, limit)
    if packing in {"gzip", "x-gzip", "deflate"}:
        return await _packed(response, limit)
    raise BodyError("content_encoding", "the body is packed in a way that was not asked for")


async def _plain(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_raw():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            return b"".join(chunks)[: limit + 1], True
    return (chunks[0] if len(chunks) == 1 else b"".join(chunks)), False


async def _packed(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    unpacker = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
    body = bytearray()
    try:
        async for chunk in response.aiter_raw():
            # One byte above the limit is enough to know: a bomb is never unpacked.
            body += unpacker.decompress(chunk, limit + 1 - len(body))
            if len(body) > limit:
                return bytes(body), True
    except zlib.error:
        raise BodyError("truncated", "the body says gzip and is not") from None
    if not unpacker.eof:
        raise BodyError("truncated", "the packed body ends early")
    return bytes(body), False
