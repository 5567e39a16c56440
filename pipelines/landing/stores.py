"""Make a store document by the pointers that settings give: the interface does not show a store record.

Whatever no pointer names is unknown: encrypted, with its path and type recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.landing import leaves
from pipelines.landing.exact import InvalidDocumentError
from pipelines.landing.pattern import attributes, trie
from pipelines.landing.shape import STORE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.landing.walk import Walk
    from pipelines.settings.tables import StoreRecord


def store_document(tree: dict[str, Any], record: StoreRecord, walk: Walk) -> tuple[int, dict[str, Any]]:
    """Return a store's id and canonical document; raise InvalidDocumentError for a wrong type where a pointer leads."""
    named: dict[str, tuple[str, ...]] = {
        **{field.name: (getattr(record, f"{field.name}_pointer"),) for field in STORE.leaves},
        "menu_ids": record.menu_id_pointers,
        "attributes": record.allowed_pointers,
    }
    patterns = {pointer: name for name, each in reversed(named.items()) for pointer in each if pointer}
    found = walk.unknown
    found.members(tree, "", "", trie(patterns))
    held: dict[str, list[tuple[str, str, Any]]] = {name: [] for name in named}
    for kept in found.kept:
        for name, pointers in named.items():
            if kept[0] in pointers:
                held[name].append(kept)
    canonical: dict[str, Any] = {}
    for name, leaf, *_ in STORE.leaves:
        if not named[name][0]:
            continue
        if not held[name]:
            _missing(name, named[name][0], walk, "absent")
            continue
        _, pointer, value = held[name][0]
        if value is None:
            _missing(name, pointer, walk, "null")
            canonical[name] = None
        else:
            validate = leaves.integer if leaf == "integer" else leaves.text
            canonical[name] = validate(value, pointer)
    canonical["menu_ids"] = list(_menu_ids(held["menu_ids"], walk))
    walk.counts["menu_ids"] = len(canonical["menu_ids"])
    if held["attributes"]:
        canonical["attributes"] = attributes(held["attributes"])
    if found.unknown:
        canonical["_unknown"] = found.types()
    walk.encrypted.update(found.encrypted)
    return canonical["id"], canonical


def _missing(name: str, pointer: str, walk: Walk, how: str) -> None:
    if name == "id":
        raise InvalidDocumentError("no_id", pointer)
    walk.missing_fields.add(f"{name}={how}")


def _menu_ids(held: list[tuple[str, str, Any]], walk: Walk) -> Iterator[int]:
    if not held:
        walk.missing_fields.add("menu_ids=absent")
    for _, pointer, value in held:
        if value is None:
            walk.missing_fields.add("menu_ids=null")
        else:
            yield leaves.integer(value, pointer)
