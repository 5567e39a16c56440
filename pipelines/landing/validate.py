"""Validate one body at a time: the document to land, or InvalidDocumentError."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.landing.budget import Budget, check_menu
from pipelines.landing.exact import LEAVES, InvalidDocumentError, integer, plain, read
from pipelines.landing.fast_orders import DEPTH, FastOrders
from pipelines.landing.raw_rows import EMPTY, ValidatedDocument, digest
from pipelines.landing.shape import (
    COUNTS,
    ID_POINTERS,
    ORDER,
    SHAPES,
    STORE,
    SUMS,
    ArrayField,
    MapField,
    ObjectField,
    Shape,
)
from pipelines.landing.unknown_fields import Trie, attributes, trie
from pipelines.landing.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pipelines.settings import Settings
    from pipelines.settings.tables import StoreRecord


_POSITION = re.compile(r"-?[0-9]{1,19}", re.ASCII)


class Validator:
    """Validates documents of one kind under given settings."""

    def __init__(self, settings: Settings, kind: str) -> None:
        self._settings = settings
        self._kind = kind
        shape = SHAPES.get(kind)
        self._id_maps = frozenset(
            f"{path}/{field.name}" for path, field in (shape.walk() if shape else ()) if isinstance(field, MapField)
        )
        self._keep: Trie = trie(settings.landing.allowed_pointers)
        self._rounds = settings.landing.excess_decimals == "round"
        self._budget = Budget(settings.landing, kind)
        self._fast: FastOrders | None = None
        if kind == "orders" and settings.landing.max_depth >= DEPTH:
            self._fast = FastOrders(settings.privacy.plaintext_fields, settings.landing.max_bytes)

    def validate(self, body: bytes, asked: int | None = None) -> ValidatedDocument:
        """Return the landed form of `body`; raise InvalidDocumentError with reason and place."""
        quickly = self._fast.validate(body, asked) if self._fast is not None else None
        if quickly is None and self._kind == "orders":
            try:
                return self.validate_by_walk(body, asked)
            except InvalidDocumentError as error:
                pointer = documented(error.pointer, ORDER, self._settings.privacy.known_fields)
                raise InvalidDocumentError(error.reason, pointer) from None
        if quickly is None:
            return self.validate_by_walk(body, asked)
        self._budget.check(quickly.counts)
        return quickly

    def validate_by_walk(self, body: bytes, asked: int | None = None) -> ValidatedDocument:
        """Validate by the walk, which defines the accepted documents."""
        limits = self._settings.landing
        tree = read(body, max_bytes=limits.max_bytes, max_depth=limits.max_depth, id_maps=self._id_maps)
        if not isinstance(tree, dict):
            raise InvalidDocumentError("wrong_type", "")
        try:
            return self._walked(tree, asked)
        except RecursionError:  # max_depth was set higher than we can follow
            raise InvalidDocumentError("too_deep", "") from None

    def _walked(self, tree: dict[str, Any], asked: int | None) -> ValidatedDocument:
        walk = Walk(self._keep, self._settings.privacy.plaintext_fields, rounds=self._rounds, budget=self._budget)
        if self._kind == "stores":
            id_, canonical = store_document(tree, self._settings.partner.store, walk)
        else:
            canonical = walk.document(tree, SHAPES[self._kind])
            id_ = _at(self.id_pointer, canonical)
        if asked is not None and id_ != asked:
            raise InvalidDocumentError("wrong_id", self.id_pointer)
        counts = tuple(walk.counts.get(name, 0) for name in COUNTS[self._kind])
        self._budget.check(counts)
        if self._kind == "menus":
            check_menu(canonical)
        document = msgspec.json.encode(canonical)
        encrypted = walk.encrypted
        return ValidatedDocument(
            id=id_,
            document=document,
            sha256=digest(document),
            content=msgspec.json.encode(plain(encrypted)) if encrypted else EMPTY,
            phone=encrypted.get("/user_phone") if self._kind == "orders" else None,
            email=encrypted.get("/user_email") if self._kind == "orders" else None,
            missing_fields=sorted(walk.missing_fields),
            rounded_count=walk.rounded,
            counts=counts,
            sums=tuple(walk.sums.get(name, Decimal(0)) for name in SUMS[self._kind]),
        )

    @property
    def id_pointer(self) -> str:
        """Where a document of this kind has its own id."""
        if self._kind == "stores":
            return self._settings.partner.store.id_pointer
        return ID_POINTERS[self._kind]

    def own_id(self, body: bytes) -> int | None:
        """Return the id that a refused body claims, where it is readable and plainly one."""
        limits = self._settings.landing
        try:
            at: Any = read(body, max_bytes=limits.max_bytes, max_depth=limits.max_depth)
            for token in self.id_pointer.split("/")[1:]:
                at = at[token]
            return integer(at, "")
        except (InvalidDocumentError, KeyError, TypeError, IndexError):
            return None


def documented(pointer: str | None, shape: Shape, known_fields: Collection[str]) -> str | None:
    """Return a pointer in which a name that is neither documented nor known is "?": it may be a person's."""
    if not pointer:
        return pointer
    at: Any = shape
    shown, pattern = "", ""
    for token in pointer.split("/")[1:]:
        field = next((each for each in at.fields if each.name == token), None) if isinstance(at, Shape) else None
        is_position = not isinstance(at, Shape) and _POSITION.fullmatch(token) is not None
        pattern += "/*" if is_position else f"/{token}"
        shown += f"/{token}" if field or is_position or pattern in known_fields else "/?"
        at = at[0] if isinstance(at, list) else field.of if isinstance(field, ObjectField) else None
        if isinstance(field, ArrayField | MapField):
            at = [field.of]
    return shown


def _at(pointer: str, document: Any) -> Any:
    """Return what a canonical document has at a pointer to a field that must be there."""
    for name in pointer.split("/")[1:]:
        document = document[name]
    return document


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
            canonical[name] = LEAVES[leaf](value, pointer)
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
            yield integer(value, pointer)
