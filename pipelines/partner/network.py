"""Make the one kind of client that asks anybody anything: the partner service, when it is examined, and for alarms.

It is httpx's over aiohttp's connections, which take a sixth of the processor time of httpx's own. It goes through the
proxy and trusts the authorities that any program with httpx would; .netrc is not read. It follows no redirect, keeps no
cookie, logs no address, and sends a request once.
"""

from __future__ import annotations

import base64
import ipaddress
import logging
import os
import ssl
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.request import getproxies

import httpx

from pipelines.partner.exchange import PartnerMisconfigured
from pipelines.settings import Partner

if TYPE_CHECKING:
    import aiohttp

NO_PROXY = "none"  # in settings
_PORTS = {"http": 80, "https": 443}


def open_client(
    address: str, *, proxy: str = "", connections: int = 2, transport: httpx.AsyncBaseTransport | None = None
) -> httpx.AsyncClient:
    """Return a client for the origin of `address`; raise PartnerMisconfigured for a wrong proxy or SSL_CERT_FILE."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)  # below that they log addresses
    return httpx.AsyncClient(
        transport=transport or transport_to(address, proxy=proxy, connections=connections),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # a cookie is a credential too
        event_hooks={"response": [_stay]},
        follow_redirects=False,
        trust_env=False,
    )


async def _stay(response: httpx.Response) -> None:
    """Forget where a redirect leads: httpx would prepare that request even if it is never sent."""
    if response.is_redirect:
        response.headers.pop("location", None)


def transport_to(address: str, *, proxy: str = "", connections: int = 2) -> httpx.AsyncBaseTransport:
    """Return the network that reaches `address`: a pool of connections without cookies and retries of its own."""
    import aiohttp  # noqa: PLC0415 -- slow, and a run that requests nothing needs none
    from httpx_aiohttp import AiohttpTransport  # noqa: PLC0415 -- the same

    context = _trusted()
    through = proxy_of(address, proxy)
    way = _proxy(through) if through else None

    async def send_once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        """Send a request; aiohttp would repeat a lost GET by itself, but not after an error of another library."""
        if way is not None and "Proxy-Authorization" in way.headers and not request.is_ssl():
            request.headers["Proxy-Authorization"] = way.headers["Proxy-Authorization"]
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError as error:
            raise httpx.ConnectError("no connection could be made") from error
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise httpx.ReadError("the connection was lost") from error

    def session() -> aiohttp.ClientSession:
        connector, jar = aiohttp.TCPConnector(limit=connections, ssl=context), aiohttp.DummyCookieJar()
        return aiohttp.ClientSession(connector=connector, cookie_jar=jar, middlewares=(send_once,))

    return AiohttpTransport(verify=context, client=session, proxy=way, trust_env=False)


def _trusted() -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context()
    except OSError as error:  # also what OpenSSL says of the file
        file = os.environ.get("SSL_CERT_FILE", "")
        why = f"SSL_CERT_FILE names {file}, from which no certificates can be read ({error.strerror or 'not PEM'})"
        raise PartnerMisconfigured(f"{why}: correct it, or unset it") from None


def _proxy(address: str) -> httpx.Proxy:
    shown = without_login(address)
    try:
        proxy = httpx.Proxy(address)
    except (ValueError, httpx.InvalidURL):
        raise PartnerMisconfigured(f"the proxy {shown} is not an address such as http://proxy.example:3128") from None
    if proxy.url.scheme not in _PORTS or not proxy.url.host:
        raise PartnerMisconfigured(f"the proxy {shown} is none for http or https: set [partner] proxy to one that is")
    if proxy.auth is None:
        return proxy
    pair = base64.b64encode(":".join(proxy.auth).encode()).decode("ascii")
    return httpx.Proxy(proxy.url, headers={"Proxy-Authorization": f"Basic {pair}"})


def proxy_of(address: str, setting: str = "") -> str:
    """Return the proxy through which `address` is asked: as settings say, else as the environment; "" for none."""
    if setting:
        return "" if setting == NO_PROXY else setting
    url, named = httpx.URL(address), getproxies()
    proxy = named.get(url.scheme) or named.get("all") or ""
    if not proxy or any(_is_excepted(url, each.strip().lower()) for each in named.get("no", "").split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def through(partner: Partner) -> str:
    """Return through which proxy the service is asked, for the end of a sentence; "" if through none."""
    proxy = proxy_of(partner.base_url, partner.proxy)
    return f" (through the proxy {without_login(proxy)})" if proxy else ""


def _is_excepted(url: httpx.URL, entry: str) -> bool:
    """Tell whether an entry of NO_PROXY means this address: a name, with those below it, a network, or all."""
    scheme, _, place = entry.rpartition("://")
    with suppress(ValueError):
        return ipaddress.ip_address(url.host) in ipaddress.ip_network(place.strip("[]"), strict=False)
    name, _, port = place.partition(":")
    if not name or scheme not in {"", "all", url.scheme} or port not in {"", str(url.port or _PORTS.get(url.scheme))}:
        return False
    name = name.removeprefix("*")
    return name in {"", url.host} or url.host.endswith("." + name.lstrip("."))


def without_login(proxy: str) -> str:
    """Return a proxy's address without name and password, to be shown."""
    scheme, _, place = proxy.rpartition("://")
    return f"{scheme}://{place.rpartition('@')[2].partition('/')[0]}"
