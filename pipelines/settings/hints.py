"""Find invalid values in [webhooks] and [planner].

Knows neither webhooks nor orders: it checks typed settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings.operations import Planner, Webhooks

_PLACE = re.compile(r"header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|(/([^~/]|~[01])*)+")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BRACES = re.compile(r"\{[^}]*\}?")
# The library checks staleness itself, with this fixed limit.
_STANDARD_TOLERANCE = 300


def webhooks(settings: Webhooks) -> Iterator[str]:
    """Yield one sentence for each invalid value in [webhooks]; it starts with the key."""
    if not settings.host:
        yield "[webhooks] host: must be an address"
    if not 0 <= settings.port < 2**16:
        yield f"[webhooks] port: {settings.port} is not a port number"
    if not re.fullmatch(r"/[!-~]*", settings.path) or set(settings.path) & set("?#{}"):
        yield "[webhooks] path: must be a path such as /webhooks"
    if settings.path == "/health":
        yield "[webhooks] path: /health is reserved for health checks"
    yield from _places(settings)
    yield from _signature(settings)


def _places(settings: Webhooks) -> Iterator[str]:
    for key, places in (
        ("topic_locations", settings.topic_locations),
        ("id_locations", settings.id_locations),
        ("delivery_id_locations", settings.delivery_id_locations),
    ):
        if not places and key != "delivery_id_locations":
            yield f"[webhooks] {key}: must name at least one location"
        for place in places:
            if not _PLACE.fullmatch(place):
                yield f"[webhooks] {key}: {place!r} is neither header:Name nor a JSON pointer such as /data/id"
            elif "{kind}" in place and key != "id_locations":
                yield f"[webhooks] {key}: {place!r} contains {{kind}}, which is allowed only in id_locations"


def _signature(settings: Webhooks) -> Iterator[str]:
    if settings.signature == "standard_webhooks" and settings.tolerance_seconds > _STANDARD_TOLERANCE:
        yield f"[webhooks] tolerance_seconds: Standard Webhooks allows at most {_STANDARD_TOLERANCE}"
    if settings.signature != "hmac_sha256":
        return
    if not _HEADER.fullmatch(settings.signature_header):
        yield "[webhooks] signature_header: must name a header"
    if settings.timestamp_header and not _HEADER.fullmatch(settings.timestamp_header):
        yield "[webhooks] timestamp_header: must name a header, or be empty"
    if settings.signing_template.count("{body}") != 1:
        yield "[webhooks] signing_template: must contain {body} exactly once"
    for found in set(_BRACES.findall(settings.signing_template)) - {"{body}", "{timestamp}"}:
        yield f"[webhooks] signing_template: {found!r} is neither {{body}} nor {{timestamp}}"
    if bool(settings.timestamp_header) != ("{timestamp}" in settings.signing_template):
        yield "[webhooks] timestamp_header: must be set if and only if signing_template contains {timestamp}"


def planner(settings: Planner) -> Iterator[str]:
    """Yield one sentence for each invalid value in [planner]; it starts with the key."""
    if not settings.hot_max_age_days <= settings.warm_max_age_days <= settings.cold_max_age_days:
        yield "[planner] hot_max_age_days, warm_max_age_days, cold_max_age_days: must not decrease"
    for name in ("max_not_found_rate", "max_failed_rate"):
        if not 0 < getattr(settings, name) <= 1:
            yield f"[planner] {name}: must be above 0 and at most 1"
