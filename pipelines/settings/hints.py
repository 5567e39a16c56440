"""Say which settings of [webhooks] and [planner] cannot hold.

Knows neither deliveries nor orders: it judges settings that are made.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings.tables import Planner, Webhooks

_PLACE = re.compile(r"header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|(/([^~/]|~[01])*)+")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BRACES = re.compile(r"\{[^}]*\}?")
# The library judges staleness by itself and knows this one figure.
_STANDARD_TOLERANCE = 300


def webhooks(settings: Webhooks) -> Iterator[str]:
    """Give one sentence for each thing in [webhooks] that cannot hold; it names the key."""
    if not settings.host:
        yield "[webhooks] host: must name an address"
    if not 0 <= settings.port < 2**16:
        yield f"[webhooks] port: {settings.port} is no port"
    if not re.fullmatch(r"/[!-~]*", settings.path) or set(settings.path) & set("?#{}"):
        yield "[webhooks] path: must be a path like /webhooks"
    if settings.path == "/health":
        yield "[webhooks] path: /health is taken, it says that the receiver lives"
    yield from _places(settings)
    for name, number in (
        ("tolerance_seconds", settings.tolerance_seconds),
        ("max_bytes", settings.max_bytes),
        ("queue_size", settings.queue_size),
        ("slow_seconds", settings.slow_seconds),
        ("retry_after_seconds", settings.retry_after_seconds),
        ("keep_days", settings.keep_days),
    ):
        if not (math.isfinite(number) and number > 0):
            yield f"[webhooks] {name}: must be above zero"
    yield from _signature(settings)


def _places(settings: Webhooks) -> Iterator[str]:
    for key, places in (
        ("topic_at", settings.topic_at),
        ("id_at", settings.id_at),
        ("delivery_id_at", settings.delivery_id_at),
    ):
        if not places and key != "delivery_id_at":
            yield f"[webhooks] {key}: must name a place"
        for place in places:
            if not _PLACE.fullmatch(place):
                yield f"[webhooks] {key}: {place!r} is neither header:Name nor a JSON pointer like /data/id"
            elif "{kind}" in place and key != "id_at":
                yield f"[webhooks] {key}: {place!r} holds {{kind}}, which only the topic tells"


def _signature(settings: Webhooks) -> Iterator[str]:
    if settings.signature == "standard_webhooks" and settings.tolerance_seconds > _STANDARD_TOLERANCE:
        yield f"[webhooks] tolerance_seconds: Standard Webhooks refuses what is older than {_STANDARD_TOLERANCE}"
    if settings.signature != "hmac_sha256":
        return
    if not _HEADER.fullmatch(settings.signature_header):
        yield "[webhooks] signature_header: must name a header"
    if settings.timestamp_header and not _HEADER.fullmatch(settings.timestamp_header):
        yield "[webhooks] timestamp_header: must name a header, or be empty"
    if settings.signed.count("{body}") != 1:
        yield "[webhooks] signed: must hold {body} once, or the signature says nothing about the body"
    for found in set(_BRACES.findall(settings.signed)) - {"{body}", "{timestamp}"}:
        yield f"[webhooks] signed: {found!r} is neither {{body}} nor {{timestamp}}"
    if bool(settings.timestamp_header) != ("{timestamp}" in settings.signed):
        yield "[webhooks] timestamp_header: it and {timestamp} in signed need each other; an unsigned one is no proof"


def planner(settings: Planner) -> Iterator[str]:
    """Give one sentence for each thing in [planner] that cannot hold; it names the key."""
    for name in ("hot_days", "hot_every_hours", "warm_days", "warm_every_hours", "cold_days", "cold_every_hours"):
        number = getattr(settings, name)
        if not (math.isfinite(number) and number > 0):
            yield f"[planner] {name}: must be above zero"
    if not settings.hot_days <= settings.warm_days <= settings.cold_days:
        yield "[planner] hot_days, warm_days and cold_days: each must reach as far as the one before it"
    for name in ("budget", "sample", "gap_budget"):
        if getattr(settings, name) < 0:
            yield f"[planner] {name}: must be zero or above"
    if not 0 < settings.missing_limit <= 1:
        yield "[planner] missing_limit: must be a share above 0 and at most 1"
