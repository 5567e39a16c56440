"""Tell whether the store records of a run have values at the pointers of [partner.store], and which members do."""

from __future__ import annotations

import re
import zoneinfo
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.partner.pointer import UNREADABLE, get_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}", re.ASCII)  # names of members that are shown
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
_SHOWN = 3
_LOOKED_AT = 50  # records in which other places are looked for
_MEMBERS = 200  # of a record, whose names are looked at


class StoreRecords:
    """Counts over the records of a run where values are found.

    An explicit "" or [] in the settings silences a check. Values are never shown.
    """

    def __init__(self, settings: Settings) -> None:
        store = settings.partner.store
        self._menus = store.menu_id_pointers
        self._fields = {
            "name_pointer": (store.name_pointer, _is_name),
            "timezone_pointer": (store.timezone_pointer, _is_zone),
            "currency_pointer": (store.currency_pointer, _is_currency),
        }
        self.count = 0
        self._found: Counter[str] = Counter()
        self._instead: dict[str, Counter[str]] = {name: Counter() for name in (*self._fields, "menu_id_pointers")}

    def add(self, body: bytes) -> None:
        """Count one record; bytes that are no object count for nothing, since validation rejects them."""
        try:
            record = msgspec.json.decode(body)
        except UNREADABLE:
            return
        if not isinstance(record, dict):
            return
        self.count += 1
        # null and an empty list are a true "no menus"; only an absent member is doubtful.
        self._found["menu_id_pointers"] += any(get_all(record, _container(pointer)) for pointer in self._menus)
        for name, (pointer, is_usable) in self._fields.items():
            self._found[name] += any(is_usable(value) for value in get_all(record, pointer))
        for place, value in _members(record) if self.count <= _LOOKED_AT else ():
            if "menu" in place.lower():
                self._instead["menu_id_pointers"][place] += 1
            for name, (_, is_usable) in self._fields.items():
                if is_usable(value) and (name != "name_pointer" or place.lower().endswith(("name", "title"))):
                    self._instead[name][place] += 1

    def of_stores(self) -> list[str]:
        """Return what no record has of name, time zone and currency."""
        kinds = {"name_pointer": "name", "timezone_pointer": "IANA time zone", "currency_pointer": "ISO 4217 currency"}
        return [
            f"no store record has a usable {kinds[name]} at {pointer}{self._records_have(name)}: "
            f'correct [partner.store] {name}, or set it to "" if records have none'
            for name, (pointer, _) in self._fields.items()
            if pointer and self._is_missing(name)
        ]

    def of_menus(self) -> list[str]:
        """Return a complaint if no record has a menu pointer at all."""
        if not self._menus or not self._is_missing("menu_id_pointers"):
            return []
        places = ", ".join(self._menus)
        have = self._records_have("menu_id_pointers")
        fix = "correct [partner.store] menu_id_pointers, or set it to [] if stores have no menus"
        return [f"no store record has a value at {places}{have}: {fix}"]

    def _is_missing(self, name: str) -> bool:
        return self.count > 0 and not self._found[name]

    def _records_have(self, name: str) -> str:
        places = [place for place, _ in self._instead[name].most_common(_SHOWN)]
        return f"; records have {', '.join(places)}" if places else ""


def _container(pointer: str) -> str:
    """Return the pointer up to its first wildcard: the member that holds the menus."""
    return pointer.partition("/*")[0].partition("/{key}")[0]


def _members(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield pointer and value of members of the record, and of objects in it."""
    left = _MEMBERS
    for name, value in record.items():
        if left == 0:
            return
        left -= 1
        if not _PLAIN.fullmatch(name):
            continue
        yield f"/{name}", value
        if isinstance(value, dict):
            for inner, inside in value.items():
                if left == 0:
                    return
                left -= 1
                if _PLAIN.fullmatch(inner):
                    yield f"/{name}/{inner}", inside


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_zone(value: object) -> bool:
    if not isinstance(value, str) or not value:
        return False
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _is_currency(value: object) -> bool:
    return isinstance(value, str) and bool(_CURRENCY.fullmatch(value))
