"""Write the first settings for a service: try it with the defaults, and propose where a store record has its fields.

Shows pointers, never values of a record.
"""

from __future__ import annotations

import asyncio
import json
import re
import zoneinfo
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.landing.exact import escaped, shown
from pipelines.partner import PartnerClient, PartnerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import httpx

    from pipelines.settings import Settings

_SECONDS = 10.0
_DEPTH = 3
_CURRENCY = re.compile(r"[A-Z]{3}")
Pointers = dict[str, Any]


def first_record(
    settings: Settings, transport: httpx.AsyncBaseTransport | None = None
) -> tuple[dict[str, Any] | None, str]:
    """Return the first record of the service's list of stores, and why there is none; gives up within seconds."""
    return asyncio.run(_first_record(settings, transport))


async def _first_record(
    settings: Settings, transport: httpx.AsyncBaseTransport | None
) -> tuple[dict[str, Any] | None, str]:
    partner = msgspec.structs.replace(
        settings.partner,
        max_attempts=2,
        timeout_seconds=_SECONDS,
        outage_timeout_seconds=_SECONDS,
        max_retry_after_seconds=1.0,
    )
    try:
        async with (
            PartnerClient(partner, max_bytes=settings.landing.max_bytes, transport=transport) as client,
            aclosing(client.list_stores()) as pages,
        ):
            async for page in pages:
                for body in page:
                    record = msgspec.json.decode(body)
                    if isinstance(record, dict):
                        return record, ""
                break
    except PartnerError as error:
        return None, str(error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, "the first store record is not JSON"
    return None, "the list of stores is empty, or its records are no objects"


def proposed(record: Mapping[str, Any]) -> Pointers:
    """Return the keys of [partner.store] with a pointer for each field that the record seems to have."""
    leaves = list(_leaves(record, "", _DEPTH))
    zones = zoneinfo.available_timezones()
    found: Pointers = {
        "id_pointer": _best(leaves, r"/(store_?)?id$", lambda value: type(value) is int),
        "name_pointer": _best(leaves, r"/(store_?|display_?)?(name|title)$", lambda value: isinstance(value, str)),
        "timezone_pointer": _best(leaves, "", lambda value: isinstance(value, str) and "/" in value and value in zones),
        "currency_pointer": _best(leaves, "currency", lambda value: bool(_CURRENCY.fullmatch(str(value)))),
    }
    menus = _best(leaves, r"menu\w*(/\*)?(/id)?$", lambda value: type(value) is int)
    found["menu_id_pointers"] = [menus] if menus else []
    return found


def settings_text(base_url: str, data_dir: str, key_file: str, pointers: Pointers | None) -> str:
    """Return the settings as TOML: what was given, and where the store record has its fields (None: not known)."""
    lines = [
        "# Settings of ordermart; keys that are left out keep the defaults of its own ordermart.toml.",
        "",
        "[partner]",
        f"base_url = {_quoted(base_url)}",
    ]
    if pointers is not None:
        lines += ["", "[partner.store]", *(f"{name} = {_quoted(value)}" for name, value in pointers.items())]
    lines += [
        "",
        "[data]",
        f"dir = {_quoted(data_dir)}",
        "",
        "[vault]",
        f"key_file = {_quoted(key_file)}",
        "",
        "[sales]",
        "# Exact status values; until they are named every order is unmapped. See `ordermart questions` after a run.",
        "counted_statuses = []",
        "excluded_statuses = []",
        "",
    ]
    return "\n".join(lines)


def assumed(pointers: Pointers | None) -> Iterator[str]:
    """Yield the remaining assumptions, a sentence each."""
    if pointers is None:
        yield "Where a store record has its fields: [partner.store] has the defaults."
    else:
        names = {"timezone_pointer": "[business_day] timezone", "currency_pointer": "[finance] currency"}
        for key, instead in names.items():
            if not pointers[key]:
                yield f"The record shows no {key.partition('_')[0]}: {instead} is used."
        if not pointers["menu_id_pointers"]:
            yield "The record names no menus: give them with `run --menu-ids FILE`, or set menu_id_pointers."
    yield "Which statuses are sales: [sales] counted_statuses and excluded_statuses name none."
    yield "Everything else that the interface leaves open: docs/ASSUMPTIONS.md, and `ordermart questions`."


def _leaves(value: Any, pointer: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the pointers of a record's values; "*" stands for the elements of an array, of which the first is shown.

    Keys that do not look like names may hold personal data, and are passed over.
    """
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            if shown(key) == key:
                yield from _leaves(inner, f"{pointer}/{escaped(key)}", depth - 1)
    elif isinstance(value, list):
        for inner in value[:1]:
            yield from _leaves(inner, f"{pointer}/*", depth - 1)
    else:
        yield pointer, value


def _best(leaves: list[tuple[str, Any]], pattern: str, is_fit: Callable[[Any], bool]) -> str:
    """Return the shortest pointer that matches and whose value fits; "" without one."""
    found = [name for name, value in leaves if re.search(pattern, name, re.IGNORECASE) and is_fit(value)]
    return min(found, key=lambda name: (name.count("/"), len(name)), default="")


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
