"""Read the body of a response up to a limit, decompressing within the same limit."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

    import httpx

_GZIP_OR_ZLIB = 47  # window bits: 32 + 15, the header says which


class BodyError(Exception):
    """A body cannot be read: an unsupported encoding, or compressed data that ends early."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


async def read_body(response: httpx.Response, encoding: str, limit: int) -> tuple[bytes, bool]:
    """Return the body and whether it exceeds `limit` bytes, where it is cut; `encoding` is its Content-Encoding.

    Raise BodyError for an unsupported encoding and for compressed data that ends early.
    """
    coding = encoding.strip().lower()
    if coding in {"", "identity"}:
        return await _plain(response, limit)
    if coding in {"gzip", "x-gzip", "deflate"}:
        return await _compressed(response, limit)
    raise BodyError("content_encoding", "the body has a content encoding that was not requested")


def _chunks(response: httpx.Response) -> AsyncIterable[bytes]:
    # As they come: aiter_raw adds two generators and a context to each body, and the sender of the request closes it.
    return cast("AsyncIterable[bytes]", response.stream)


async def _plain(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    chunks: list[bytes] = []
    size = 0
    async for chunk in _chunks(response):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            return b"".join(chunks)[: limit + 1], True
    return (chunks[0] if len(chunks) == 1 else b"".join(chunks)), False


async def _compressed(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    decompressor = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
    body = bytearray()
    try:
        async for chunk in _chunks(response):
            # One byte above the limit is enough: a decompression bomb is never expanded.
            body += decompressor.decompress(chunk, limit + 1 - len(body))
            if len(body) > limit:
                return bytes(body), True
            if decompressor.eof:
                break  # zlib would keep all that follows
    except zlib.error:
        raise BodyError("truncated", "the body is not the gzip data that it claims to be") from None
    if not decompressor.eof:
        raise BodyError("truncated", "the compressed body ends early")
    return bytes(body), False
