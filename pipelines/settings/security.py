"""Find settings that leave a door open which somebody must open knowingly, in [security].

Knows neither the file nor the environment: it checks typed settings.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.settings.tables import Settings

_OTHERS = 0o077


def is_loopback(host: str) -> bool:
    """Return whether an address, or a name that stands for one, can be reached from this machine only."""
    name = host.strip("[]").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def security(settings: Settings) -> Iterator[str]:
    """Yield one sentence for each door that is open without leave; it starts with the key."""
    if complaint := unsigned(settings, settings.webhooks.host):
        yield complaint
    url = urlsplit(settings.partner.base_url)
    if url.scheme == "http" and not is_loopback(url.hostname or "") and not settings.security.allow_plain_http:
        yield (
            "[partner] base_url: plain http sends credentials and personal data readable over the network; "
            "use https, or set [security] allow_plain_http = true"
        )


def unsigned(settings: Settings, host: str) -> str:
    """Return why webhooks are not received on this address without a signature; "" if they are."""
    webhooks = settings.webhooks
    if webhooks.signature != "none" or is_loopback(host) or settings.security.allow_unsigned_webhooks:
        return ""
    return (
        f'[webhooks] host: {host} can be reached by others, who could send anything while signature = "none"; '
        "set a signature, or [security] allow_unsigned_webhooks = true"
    )


def readable_by_others(path: Path) -> bool:
    """Return whether others than its owner may read a file; a pipe is nobody else's."""
    return path.is_file() and bool(path.stat().st_mode & _OTHERS)
