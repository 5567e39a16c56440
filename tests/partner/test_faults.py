"""Peers that misbehave, on a real socket: an error for that id, retried, and the others go on."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import time
import zlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.partner.client import PartnerClient, fetch_all
from pipelines.partner.exchange import AuthenticationFailed, Fetched, ServiceDown
from tests.house.test_nginx import certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

BODY = b'{"id": 7, "user_phone": "+49 30 1234567"}'
OK = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n"


def _framed(body: bytes, length: int | None = None, *, head: bytes = OK) -> bytes:
    return head + b"content-length: %d\r\n\r\n" % (len(body) if length is None else length) + body


FAULTS: dict[str, tuple[bytes, str]] = {
    "nothing at all": (b"", "reset"),
    "half a head": (OK[:30], "reset"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "protocol"),
    "half a body": (_framed(BODY, 2 * len(BODY)), "truncated"),
    "half a chunk": (OK + b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(BODY) + BODY[:9], "truncated"),
    "no last chunk": (OK + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(BODY), BODY), "truncated"),
    "a bad chunk": (OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n" + BODY, "protocol"),
    "a body without length, cut": (OK + b"\r\n" + BODY[:20], "not_json"),
    "a negative length": (OK + b"content-length: -5\r\n\r\n" + BODY, "protocol"),
    "two lengths": (OK + b"content-length: 5\r\ncontent-length: 50\r\n\r\n" + BODY, "protocol"),
    "HTML": (
        _framed(b"<html>sorry", head=b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html\r\n"),
        "content_type",
    ),
    "half a gzip": (_framed(gzip.compress(BODY)[:25], head=OK + b"content-encoding: gzip\r\n"), "truncated"),
    "no gzip": (_framed(BODY, head=OK + b"content-encoding: gzip\r\n"), "truncated"),
    "brotli unasked": (_framed(BODY, head=OK + b"content-encoding: br\r\n"), "content_encoding"),
    "a server error": (b"HTTP/1.1 500 Oops\r\nconnection: close\r\ncontent-length: 4\r\n\r\noops", "server_error"),
    "no content": (b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n", "status_204"),
    "gone": (b"HTTP/1.1 410 Gone\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", "status_410"),
    "forbidden": (b"HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", "status_403"),
    "a redirect": (
        b"HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: /v1/elsewhere\r\ncontent-length: 0\r\n\r\n",
        "redirect",
    ),
}
NOT_TRIED_AGAIN = {"status_204", "status_410", "status_403", "redirect"}


def _serve(raw_partner: Any, script: Any, main: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    async def run() -> Any:
        async with raw_partner(script) as server:
            return await main(server)

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_that_ids_alone(raw_partner: Any, partner: Any, name: str) -> None:
    """Each fault is tried again if that can help, then failed with a code and no body; others come."""
    said, code = FAULTS[name]

    async def script(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(said if path.endswith("/7") else _framed(b'{"id": 1}'))

    async def main(server: Any) -> tuple[list[Any], int]:
        settings = partner(server.base_url, max_attempts=3, timeout_seconds=5.0)
        async with PartnerClient(settings) as client:
            answers = [answer async for answer in fetch_all(client, "orders", [5, 6, 7, 8, 9])]
        return answers, sum(path.endswith("/7") for path in server.paths())

    answers, asked = _serve(raw_partner, script, main)
    assert {answer.id for answer in answers if not answer.code} == {5, 6, 8, 9}
    [failed] = [answer for answer in answers if answer.code]
    assert (failed.id, failed.code) == (7, code)
    assert failed.attempts == asked == (1 if code in NOT_TRIED_AGAIN else 3)
    assert "1234567" not in repr(failed)
    assert "sorry" not in repr(failed)


@pytest.mark.parametrize("name", ["nothing at all", "half a body", "no last chunk", "half a gzip", "HTML"])
def test_a_passing_fault_costs_a_try(raw_partner: Any, partner: Any, name: str) -> None:
    """A fault that happens once is mended by asking again."""
    times = 0

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        nonlocal times
        times += 1
        writer.write(FAULTS[name][0] if times == 1 else _framed(BODY))

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url)) as client:
            return await client.fetch("orders", 7)

    fetched = _serve(raw_partner, script, main)
    assert (fetched.status, fetched.body, fetched.bytes, fetched.attempts) == (200, BODY, len(BODY), 2)


def test_a_stated_length_that_is_too_short_is_asked_again(raw_partner: Any, partner: Any) -> None:
    """A body cut by its own stated length is not JSON, and what comes differs: asked again, then whole."""
    times = 0

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        nonlocal times
        times += 1
        writer.write(_framed(BODY, len(BODY) - 3 * (3 - times) if times < 3 else None))

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url)) as client:
            return await client.fetch("orders", 7)

    fetched = _serve(raw_partner, script, main)
    assert (fetched.body, fetched.attempts) == (BODY, 3)


def test_the_same_broken_body_twice_goes_to_the_gate(raw_partner: Any, partner: Any) -> None:
    """An answer that comes twice, whole, is one: the gate names its fault."""

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_framed(b'{"id": 7, "tip": NaN}'))

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url)) as client:
            return await client.fetch("orders", 7)

    fetched = _serve(raw_partner, script, main)
    assert (fetched.status, fetched.body, fetched.attempts) == (200, b'{"id": 7, "tip": NaN}', 2)


def test_one_byte_at_a_time_is_cut(raw_partner: Any, partner: Any) -> None:
    """The timeout is for the whole request: a byte now and then does not stretch it."""

    async def script(path: str, writer: asyncio.StreamWriter) -> None:
        if not path.endswith("/7"):
            writer.write(_framed(b'{"id": 1}'))
            return
        writer.write(OK + b"content-length: 1000\r\n\r\n")
        for _ in range(1000):
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.05)

    async def main(server: Any) -> tuple[list[Any], float]:
        began = time.monotonic()
        settings = partner(server.base_url, timeout_seconds=0.4, max_attempts=2)
        async with PartnerClient(settings) as client:
            answers = [answer async for answer in fetch_all(client, "orders", [6, 7, 8])]
        return answers, time.monotonic() - began

    answers, seconds = _serve(raw_partner, script, main)
    assert seconds < 40  # the whole body would take 50
    assert [(a.id, a.code) for a in answers if a.code] == [(7, "timeout")]
    assert {a.id for a in answers if not a.code} == {6, 8}


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_without_end_is_read_to_the_limit(raw_partner: Any, partner: Any, *, packed: bool) -> None:
    """Reading stops just above the limit, unpacked bytes counted, and the cut body is marked for the gate."""
    sent = 0

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(OK + (b"content-encoding: gzip\r\n" if packed else b"") + b"\r\n")
        packer = zlib.compressobj(wbits=31)
        for _ in range(2_000):
            block = b" " * 65_536
            writer.write(packer.compress(block) if packed else block)
            await writer.drain()
            sent += len(block)

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url), max_bytes=100_000) as client:
            return await client.fetch("orders", 7)

    fetched = _serve(raw_partner, script, main)
    assert fetched.bytes == len(fetched.body) == 100_001
    if not packed:
        assert sent < 60_000_000


def test_what_follows_compressed_data_is_not_read(raw_partner: Any, partner: Any) -> None:
    """Bytes after the end of a gzip body would be kept in memory, however many: reading ends there."""
    sent = 0

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(BODY))
        for _ in range(2_000):
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url), max_bytes=100_000) as client:
            return await client.fetch("orders", 7)

    assert _serve(raw_partner, script, main).body == BODY
    assert sent < 60_000_000


def test_a_body_of_just_the_limit_is_whole(raw_partner: Any, partner: Any) -> None:
    """The limit itself is allowed."""

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_framed(BODY))

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url), max_bytes=len(BODY)) as client:
            return await client.fetch("orders", 7)

    fetched = _serve(raw_partner, script, main)
    assert (fetched.body, fetched.bytes) == (BODY, len(BODY))


@pytest.mark.parametrize(
    "media", [b"application/json", b"Application/JSON; charset=utf-8", b"application/hal+json", b""]
)
def test_json_by_any_usual_name(raw_partner: Any, partner: Any, media: bytes) -> None:
    """JSON is taken under its usual names, packed or not, and without a name."""

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n" + (b"content-type: %s\r\n" % media if media else b"")
        writer.write(_framed(gzip.compress(BODY), head=head + b"content-encoding: gzip\r\n"))

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url)) as client:
            return await client.fetch("menus", 7)

    assert _serve(raw_partner, script, main).body == BODY


def test_404_is_an_answer(raw_partner: Any, partner: Any) -> None:
    """Not found is an answer without a body, whatever its page says and however it ends."""

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 404 Not Found\r\nconnection: close\r\n"
            b"content-type: text/html\r\ncontent-length: 500\r\n\r\n<html>nope"
        )

    async def main(server: Any) -> Fetched:
        async with PartnerClient(partner(server.base_url)) as client:
            return await client.fetch("stores", 7)

    fetched = _serve(raw_partner, script, main)
    assert (fetched.kind, fetched.status, fetched.body, fetched.attempts) == ("stores", 404, b"", 1)


def test_nobody_listens(partner: Any) -> None:
    """Where nothing listens, the sentence says that no connection could be made."""

    async def main() -> None:
        async with PartnerClient(partner("http://127.0.0.1:9", outage_timeout_seconds=0.5)) as client:
            await client.fetch("orders", 1)

    with pytest.raises(Exception, match="no connection could be made"):
        asyncio.run(main())


def test_a_certificate_that_is_not_valid_ends_the_run_at_once(partner: Any, tmp_path: Path) -> None:
    """It does not pass within minutes: one request, and a sentence of its own."""
    certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "fullchain.pem", tmp_path / "privkey.pem")

    async def main() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, PartnerClient(partner(address, outage_timeout_seconds=60)) as client:
            await client.fetch("orders", 1)

    began = time.monotonic()
    with pytest.raises(AuthenticationFailed, match="certificate is not valid"):
        asyncio.run(main())
    assert time.monotonic() - began < 20


def test_a_name_without_an_address_is_said(partner: Any) -> None:
    """The resolver knows no address, which is not the same as nobody listening, and is known within seconds."""

    async def main() -> None:
        async with PartnerClient(partner("https://orders.invalid", outage_timeout_seconds=60)) as client:
            await client.fetch("orders", 1)

    began = time.monotonic()
    with pytest.raises(ServiceDown, match=r"after 3 attempts .*no address is known for the name in"):
        asyncio.run(main())
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_token_follows_no_redirect(raw_partner: Any, partner: Any, status: int) -> None:
    """Neither another host nor the same one gets the token by a redirect, nor the credentials."""

    async def main(server: Any) -> None:
        async def redirect(_: str, writer: asyncio.StreamWriter) -> None:
            writer.write(
                f"HTTP/1.1 {status} Moved\r\nconnection: close\r\n"
                f"location: {server.base_url}/v1/x\r\ncontent-length: 0\r\n\r\n".encode()
            )

        async with raw_partner(redirect) as redirecting, PartnerClient(partner(redirecting.base_url)) as client:
            assert (await client.fetch("orders", 1)).code == "redirect"
            assert len(redirecting.paths()) == 1
        assert server.heads == []

    async def never(_: str, __: asyncio.StreamWriter) -> None:
        raise AssertionError

    _serve(raw_partner, never, main)


def test_leaving_early_leaves_nothing_behind(raw_partner: Any, partner: Any) -> None:
    """A consumer that stops leaves no task and no request under way."""

    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(_framed(b'{"id": 1}'))

    async def main(server: Any) -> int:
        async with PartnerClient(partner(server.base_url)) as client:
            async with aclosing(fetch_all(client, "orders", iter(range(10_000)))) as answers:
                async for _ in answers:
                    break
            return len([task for task in asyncio.all_tasks() if "_answer" in repr(task)])

    assert _serve(raw_partner, script, main) == 0
