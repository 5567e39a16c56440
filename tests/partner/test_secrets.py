"""Token and credentials are in no log, error, repr, cause or traceback, whatever goes wrong."""

from __future__ import annotations

import asyncio
import base64
import logging
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.partner.exchange import RunStopped
from pipelines.settings import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

ID, SECRET, TOKEN, PHONE = "canary-id-5a1b", "canary-secret-77e0", "canary-token-c0de", "canary-phone-0049"
CANARIES = (ID, SECRET, TOKEN, PHONE, base64.b64encode(f"{ID}:{SECRET}".encode()).decode())
JSON = b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"


def _json(body: bytes, status: bytes = b"200 OK") -> bytes:
    return JSON % (status, len(body), body)


# The service's answer to a request for an order, echoing what it knows.
ECHO = f'{{"token": "{TOKEN}", "secret": "{SECRET}", "phone": "{PHONE}"}}'.encode()
WAYS = {
    "refused": _json(ECHO, b"403 Forbidden"),
    "broken": _json(ECHO, b"500 Oops"),
    "unauthorized": _json(ECHO, b"401 Unauthorized"),
    "redirected": b"HTTP/1.1 302 Found\r\nlocation: http://x/?" + TOKEN.encode() + b"\r\ncontent-length: 0\r\n\r\n",
    "reset": b"",
    "no http": TOKEN.encode() + b"\r\n\r\n",
    "truncated": _json(ECHO)[:-20],
    "html": _json(ECHO).replace(b"application/json", b"text/html"),
    "cut": _json(ECHO[:-5]).replace(b"content-length", b"x-length"),
    "hangs": b"hang",
}
TOKENS = {
    "given": _json(f'{{"access_token": "{TOKEN}", "expires_in": 60}}'.encode()),
    "elsewhere": _json(f'{{"other": "{TOKEN}", "secret": "{SECRET}"}}'.encode()),
    "wrong kind": _json(f'{{"access_token": ["{TOKEN}"]}}'.encode()),
    "unsendable": _json(f'{{"access_token": "{TOKEN}\\r\\nx: y"}}'.encode()),
    "refused": _json(ECHO, b"401 Unauthorized"),
    "not json": _json(f'{{"access_token": "{TOKEN}'.encode()),
    "reset": b"",
}


def _everything(error: BaseException | None) -> Iterator[str]:
    """Give all that a tool could print of an error: its chain, and every frame's locals."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        yield repr(error)
        yield str(error)
        yield repr(vars(error))
        yield from traceback.format_exception(error)
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename != __file__:
                yield from (f"{frame.f_code.co_name} {name} = {value!r}" for name, value in frame.f_locals.items())
        waiting += [error.__cause__, error.__context__]


def _told(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["json", "form", "basic"])
@pytest.mark.parametrize("header", ["Authorization", pytest.param("X-Api-Key", marks=pytest.mark.long)])
@pytest.mark.parametrize("way", WAYS)
def test_a_failing_request_tells_nothing(
    raw_partner: Any, partner: Any, caplog: pytest.LogCaptureFixture, way: str, header: str, encoding: str
) -> None:
    """However a request fails, nothing that can be printed holds a canary."""
    _tells_nothing(raw_partner, partner, caplog, WAYS[way], TOKENS["given"], header, encoding)


@pytest.mark.parametrize("encoding", ["json", "form", "basic"])
@pytest.mark.parametrize("token", sorted(set(TOKENS) - {"given"}))
def test_a_failing_authentication_tells_nothing(
    raw_partner: Any, partner: Any, caplog: pytest.LogCaptureFixture, token: str, encoding: str
) -> None:
    """However authenticating fails, nothing that can be printed holds a canary."""
    _tells_nothing(raw_partner, partner, caplog, b"", TOKENS[token], "Authorization", encoding)


def _tells_nothing(
    raw_partner: Any,
    partner: Any,
    caplog: pytest.LogCaptureFixture,
    order: bytes,
    token: bytes,
    header: str,
    encoding: str,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def script(path: str, writer: asyncio.StreamWriter) -> None:
        said = token if path.endswith("/token") else order
        if said == b"hang":
            await asyncio.sleep(1)
        writer.write(said)

    async def main() -> list[str]:
        async with raw_partner(script) as server:
            settings = partner(
                server.base_url,
                client_id=Secret(ID),
                client_secret=Secret(SECRET),
                authenticate={"path": "/v1/token", "header": header, "encoding": encoding},
                max_attempts=2,
                outage_timeout_seconds=0.5,
                timeout_seconds=0.4 if b"hang" in (order, token) else 60,  # a busy machine answers late
            )
            client = PartnerClient(settings)
            async with client:
                told = []
                try:
                    failed = await client.fetch("orders", 1)
                    assert failed.code
                    told.append(repr(failed))
                except RunStopped as error:
                    told += _everything(error)
                told += [
                    repr(client),
                    repr(vars(client)),
                    repr(vars(client._tokens)),
                ]
                try:
                    told += [repr(answer) async for answer in fetch_all(client, "orders", [1, 2])]
                except RunStopped as error:
                    told += _everything(error)
                with pytest.raises(RunStopped) as caught:
                    async for _ in client.list_stores():
                        pass
                told += _everything(caught.value)
            sent = b"".join(server.heads).decode()
            assert token != TOKENS["given"] or TOKEN in sent  # the canary did fly
            return told

    told = asyncio.run(main())
    assert not [(canary, text) for text in told for canary in _told(text)]
    assert not _told(caplog.text)


def test_a_cancelled_request_tells_nothing(raw_partner: Any, partner: Any) -> None:
    """A run that is interrupted leaves a traceback without frames that hold the headers."""

    async def script(path: str, writer: asyncio.StreamWriter) -> None:
        if path.endswith("/token"):
            writer.write(TOKENS["given"])
        else:
            await asyncio.sleep(0.5)

    async def main() -> list[str]:
        async with raw_partner(script) as server:
            settings = partner(server.base_url, authenticate={"path": "/v1/token", "header": "X-Key"})
            async with PartnerClient(settings) as client:
                task = asyncio.create_task(client.fetch("orders", 1))
                await asyncio.sleep(0.2)
                task.cancel()
                try:
                    await task
                except asyncio.CancelledError as error:
                    assert len(server.heads) == 2
                    return list(_everything(error))
        raise AssertionError

    assert not [text for text in asyncio.run(main()) if _told(text)]


def test_an_answer_shows_no_body(raw_partner: Any, partner: Any) -> None:
    """The repr of a fetched document has figures only."""

    async def script(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(TOKENS["given"] if path.endswith("/token") else _json(ECHO))

    async def main() -> Any:
        async with (
            raw_partner(script) as server,
            PartnerClient(partner(server.base_url, authenticate={"path": "/v1/token"})) as client,
        ):
            return await client.fetch("orders", 1)

    fetched = asyncio.run(main())
    assert PHONE.encode() in fetched.body
    assert not _told(repr(fetched))
    assert f"bytes={len(ECHO)}" in repr(fetched)


def test_a_cookie_is_not_kept(raw_partner: Any, partner: Any) -> None:
    """A cookie of the service is not sent back."""

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_json(ECHO).replace(b"\r\nc", b"\r\nset-cookie: session=canary; Path=/\r\nc", 1))

    async def main() -> bytes:
        async with raw_partner(script) as server:
            async with PartnerClient(partner(server.base_url)) as client:
                await client.fetch("orders", 1)
                await client.fetch("orders", 2)
            return b"".join(server.heads)

    assert b"cookie" not in asyncio.run(main()).lower()
