"""Read a delivery: which topic, which id, which delivery. Settings say where they stand.

Knows nothing of signatures or storage. Takes an id and three words from a delivery and nothing else: what a body says
about an order is never believed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.inbox.entries import INT64
from pipelines.partner.pointer import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.inbox.entries import Kind
    from pipelines.settings import Webhooks

# Interface section 6 names these and no others.
TOPICS: dict[str, Kind] = {
    "stores.update": "stores",
    "orders.create": "orders",
    "orders.update": "orders",
    "menus.update": "menus",
}
_SINGULAR = {"stores": "store", "orders": "order", "menus": "menu"}
# A word that the inbox may keep: what does not look like this could be anything, a telephone number or a name too.
_TOPIC = re.compile(r"[a-z_]{1,40}([.:/-][a-z_]{1,40}){1,3}", re.ASCII)
_DELIVERY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Hint:
    """What a delivery says. `undecodable` is None, or why it could not be read; then there is nothing to fetch."""

    topic: str | None
    kind: Kind | None
    id: int | None
    delivery_id: str | None
    undecodable: str | None


class Reader:
    """Reads deliveries as [webhooks] says; make one and keep it."""

    def __init__(self, settings: Webhooks) -> None:
        self._topic = [_place(text) for text in settings.topic_locations]
        self._delivery = [_place(text) for text in settings.delivery_id_locations]
        self._ids = {
            kind: [_place(text.replace("{kind}", singular)) for text in settings.id_locations]
            for kind, singular in _SINGULAR.items()
        }

    def read(self, headers: Mapping[bytes, bytes], body: bytes) -> Hint:
        """Return what a delivery says; `headers` has names in lower case. Raise nothing, whatever the bytes are."""
        try:
            document = msgspec.json.decode(body)
            is_json = True
        except (ValueError, RecursionError):
            document, is_json = _NOTHING, False
        topic, kind = self._find_topic(headers, document)
        delivery_id = self._find_delivery(headers, document)
        if kind is not None:
            for place in self._ids[kind]:
                id_ = _as_id(_at(place, headers, document))
                if id_ is not None:
                    return Hint(topic, kind, id_, delivery_id, None)
            why = "no id found" if is_json else "no id found: the body is no JSON"
        elif topic is not None:
            why = "unknown topic"
        else:
            why = "no topic found" if is_json else "no topic found: the body is no JSON"
        return Hint(topic, kind, None, delivery_id, why)

    def _find_topic(self, headers: Mapping[bytes, bytes], document: Any) -> tuple[str | None, Kind | None]:
        unknown = None
        for place in self._topic:
            found = _at(place, headers, document)
            if isinstance(found, str):
                if found in TOPICS:
                    return found, TOPICS[found]
                if unknown is None and _TOPIC.fullmatch(found):
                    unknown = found
        return unknown, None

    def _find_delivery(self, headers: Mapping[bytes, bytes], document: Any) -> str | None:
        for place in self._delivery:
            found = _at(place, headers, document)
            if type(found) is int and found in INT64:
                return str(found)
            if isinstance(found, str) and _DELIVERY_ID.fullmatch(found):
                return found
        return None


def _place(text: str) -> bytes | tuple[str, ...]:
    """Return a header's name as bytes in lower case, or a pointer's tokens."""
    name = text.removeprefix("header:")
    return parse(text) if name == text else name.lower().encode("ascii")


def _at(place: bytes | tuple[str, ...], headers: Mapping[bytes, bytes], document: Any) -> Any:
    if isinstance(place, bytes):
        found = headers.get(place)
        return _NOTHING if found is None else found.decode("latin-1").strip()
    value = document
    for token in place:
        if isinstance(value, dict):
            value = value.get(token, _NOTHING)
        elif isinstance(value, list) and token.isdecimal() and len(token) < 6 and int(token) < len(value):
            value = value[int(token)]
        else:
            return _NOTHING
    return value


def _as_id(found: Any) -> int | None:
    """Return an id given as an integer or as its canonical text; nothing else is one."""
    if type(found) is str and _INTEGER.fullmatch(found):
        found = int(found)
    return found if type(found) is int and found in INT64 else None
