"""A service that only a proxy reaches, by a real one: Debian's tinyproxy."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pipelines.partner.client import PartnerClient
from pipelines.partner.exchange import PartnerMisconfigured, RunStopped
from pipelines.partner.network import open_client, proxy_of, through

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROXY = "http://proxy.example:3128"


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start tinyproxy on loopback, with further lines of configuration; return its address."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*lines: str) -> str:
        port = 18_000 + (hash(tmp_path) + len(started)) % 10_000
        file = tmp_path / "tinyproxy.conf"
        log = tmp_path / "tinyproxy.log"
        own = (f"Port {port}", "Listen 127.0.0.1", "Timeout 60", f'LogFile "{log}"', "LogLevel Connect", *lines)
        file.write_text("\n".join(own) + "\n")
        started.append(subprocess.Popen(["tinyproxy", "-d", "-c", str(file)], stdout=subprocess.DEVNULL))
        for _ in range(100):
            try:
                httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
                break
            except httpx.HTTPError:
                time.sleep(0.05)
        return f"http://127.0.0.1:{port}"

    yield start
    for each in started:
        each.terminate()
        each.wait()


async def _asked(raw_partner: Any, partner: Any, body: bytes, **settings: Any) -> tuple[Any, list[bytes]]:
    async def script(_: str, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
        writer.write(head % (len(body), body))

    async with (
        raw_partner(script) as server,
        PartnerClient(partner(server.base_url, outage_timeout_seconds=2.0, **settings)) as asking,
    ):
        return await asking.fetch("orders", 7), server.heads


@pytest.mark.parametrize("is_set", [True, False], ids=["setting", "environment"])
@pytest.mark.tinyproxy
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tinyproxy") is None, reason="tinyproxy of Debian is the proxy")
def test_the_service_is_asked_through_the_proxy(
    raw_partner: Any, partner: Any, proxy: Any, monkeypatch: pytest.MonkeyPatch, is_set: bool
) -> None:
    """Every request comes through it, token included, as its Via header shows; the answer is the same."""
    address = proxy()
    monkeypatch.setenv("HTTP_PROXY", "" if is_set else address)
    fetched, heads = asyncio.run(_asked(raw_partner, partner, b'{"id": 7}', proxy=address if is_set else ""))
    assert (fetched.status, fetched.body) == (200, b'{"id": 7}')
    assert len(heads) == 2
    assert all(b"tinyproxy" in head for head in heads)


@pytest.mark.tinyproxy
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tinyproxy") is None, reason="tinyproxy of Debian is the proxy")
def test_a_proxy_that_wants_a_password_gets_it_and_the_service_does_not(
    raw_partner: Any, partner: Any, proxy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Name and password of the proxy's address are sent to it alone; without them the reason names the proxy."""
    address = proxy("BasicAuth canary-user canary-password")
    monkeypatch.setenv("http_proxy", address.replace("//", "//canary-user:canary-password@"))
    fetched, heads = asyncio.run(_asked(raw_partner, partner, b'{"id": 7}'))
    assert fetched.status == 200
    assert not any(b"proxy-authorization" in head.lower() for head in heads)
    assert "canary" not in through(partner("http://partner.example"))
    monkeypatch.setenv("http_proxy", address)
    with pytest.raises(RunStopped, match=r"407.*proxy"):
        asyncio.run(_asked(raw_partner, partner, b'{"id": 7}'))


def test_a_dead_proxy_is_named(raw_partner: Any, partner: Any) -> None:
    """Neither the service's address nor its name is blamed."""
    with pytest.raises(RunStopped, match=r"no connection to the proxy.*\[partner\] proxy, HTTP_PROXY and HTTPS_PROXY"):
        asyncio.run(_asked(raw_partner, partner, b"{}", proxy="http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("address", "environment", "setting", "expected"),
    [
        ("http://a.example", {"http_proxy": PROXY}, "", PROXY),
        ("http://a.example", {"HTTP_PROXY": "proxy.example:3128"}, "", PROXY),
        ("https://a.example", {"HTTP_PROXY": PROXY}, "", ""),
        ("https://a.example", {"HTTPS_PROXY": PROXY}, "", PROXY),
        ("https://a.example", {"ALL_PROXY": PROXY}, "", PROXY),
        ("https://a.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.example"}, "", ""),
        ("https://b.a.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "x.example, a.example"}, "", ""),
        ("https://ba.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.example"}, "", PROXY),
        ("https://a.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".a.example"}, "", PROXY),
        ("https://b.a.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".a.example"}, "", ""),
        ("https://a.example:444", {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.example:444"}, "", ""),
        ("https://a.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.example:444"}, "", PROXY),
        ("https://a.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "http://a.example"}, "", PROXY),
        ("https://10.1.2.3", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, "", ""),
        ("https://[::1]", {"HTTPS_PROXY": PROXY, "NO_PROXY": "::1"}, "", ""),
        ("http://127.0.0.1:8600", {"HTTP_PROXY": PROXY, "NO_PROXY": "localhost"}, "", PROXY),
        ("https://a.example", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, "", ""),
        ("https://a.example", {"HTTPS_PROXY": "http://other:1", "NO_PROXY": "*"}, PROXY, PROXY),
        ("https://a.example", {"HTTPS_PROXY": PROXY}, "none", ""),
    ],
)
def test_the_proxy_is_the_one_of_settings_or_environment(
    monkeypatch: pytest.MonkeyPatch, address: str, environment: dict[str, str], setting: str, expected: str
) -> None:
    """Names and exceptions are read as httpx reads them, ports and networks as well."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(address, setting) == expected


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("HTTPS_PROXY", "socks5://u:canary@proxy.example:1080", "is none for http or https"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE names /nowhere/ca.pem.*No such file"),
        ("SSL_CERT_FILE", __file__, "SSL_CERT_FILE names .*not PEM|SSL_CERT_FILE names .*NO_CERT"),
    ],
)
def test_what_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    """A proxy of another kind and a missing or empty file of authorities are one sentence, without a password."""
    monkeypatch.setenv(name, value)
    with pytest.raises(PartnerMisconfigured, match=said) as caught:
        open_client("https://a.example")
    assert "canary" not in str(caught.value)
