"""Validate one body at a time: the document to land, or InvalidDocumentError.

A walk by the documented shape validates every value, splits off personal data, counts and adds up. A document of too
many parts or paths is refused alone, before a build is slow for all.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from pipelines.landing import exact
from pipelines.landing import shape as shapes
from pipelines.landing.raw_rows import EMPTY, ValidatedDocument
from pipelines.landing.unknown_fields import Sorted, Trie, attributes, trie, within
from pipelines.literals import unmarked
from pipelines.partner.pointer import elements_of
from pipelines.settings import Settings
from pipelines.settings.setting_tables import Landing, StoreRecord

_ABSENT = object()
_POSITION = re.compile(r"-?[0-9]{1,19}", re.ASCII)


class Validator:
    """Validates documents of one kind under given settings."""

    def __init__(self, settings: Settings, kind: str) -> None:
        self._settings, self._kind = settings, kind
        shape = shapes.SHAPES.get(kind)
        fields = shape.walk() if shape else ()
        self._id_maps = frozenset(f"{at}/{each.name}" for at, each in fields if isinstance(each, shapes.MapField))
        self._keep: Trie = trie(settings.landing.allowed_pointers)
        limits = settings.landing
        most = {"orders": limits.max_order_parts, "stores": limits.max_store_menus}
        self._most_parts = most.get(kind, limits.max_menu_parts)

    def validate(self, body: bytes, requested_id: int | None = None) -> ValidatedDocument:
        """Return the landed form of `body`; raise InvalidDocumentError with code and place."""
        most = self._settings.landing
        try:
            tree = exact.read(unmarked(body), max_bytes=most.max_bytes, max_depth=most.max_depth, id_maps=self._id_maps)
            if not isinstance(tree, dict):
                raise exact.InvalidDocumentError("wrong_type", "")
            return self._walked(tree, requested_id)
        except RecursionError:  # max_depth was set higher than we can follow
            raise exact.InvalidDocumentError("too_deep", "") from None
        except exact.InvalidDocumentError as error:
            if self._kind != "orders":
                raise
            pointer = documented(error.pointer, shapes.ORDER, self._settings.privacy.known_fields)
            raise exact.InvalidDocumentError(error.code, pointer) from None

    def _walked(self, tree: dict[str, Any], requested_id: int | None) -> ValidatedDocument:
        walk = Walk(self._keep, self._settings.privacy.plaintext_fields, self._most_parts, self._settings.landing)
        if self._kind == "stores":
            canonical = walk.store(tree, self._settings.partner.store)
            id_ = canonical["id"]
        else:
            canonical = walk.document(tree, shapes.SHAPES[self._kind])
            id_ = _at(self.id_pointer, canonical)
        if id_ < 0:
            raise exact.InvalidDocumentError("id_out_of_range", self.id_pointer)
        if requested_id is not None and id_ != requested_id:
            raise exact.InvalidDocumentError("wrong_id", self.id_pointer)
        counts = tuple(walk.counts.get(name, 0) for name in shapes.COUNTS[self._kind])
        check_parts(counts, self._most_parts)
        if self._kind == "menus":
            check_menu(canonical)
        document = msgspec.json.encode(canonical)
        encrypted = walk.encrypted
        return ValidatedDocument(
            id=id_,
            document=document,
            sha256=hashlib.sha256(document).digest(),
            content=msgspec.json.encode(exact.plain(encrypted)) if encrypted else EMPTY,
            phone=encrypted.get("/user_phone") if self._kind == "orders" else None,
            email=encrypted.get("/user_email") if self._kind == "orders" else None,
            missing_fields=sorted(walk.missing_fields),
            rounded_count=walk.rounded,
            counts=counts,
            sums=tuple(walk.sums.get(name, Decimal(0)) for name in shapes.SUMS[self._kind]),
        )

    @property
    def id_pointer(self) -> str:
        """Where a document of this kind has its own id."""
        if self._kind == "stores":
            return self._settings.partner.store.id_pointer
        return shapes.ID_POINTERS[self._kind]

    def own_id(self, body: bytes) -> int | None:
        """Return the id that a refused body claims, where it is readable and plainly one."""
        limits = self._settings.landing
        try:
            at: Any = exact.read(body, max_bytes=limits.max_bytes, max_depth=limits.max_depth)
            for token in self.id_pointer.split("/")[1:]:
                at = at[token]
            found = exact.integer(at, "")
            return found if found >= 0 else None
        except (exact.InvalidDocumentError, KeyError, TypeError, IndexError):
            return None


def documented(pointer: str | None, shape: shapes.Shape, known_fields: Collection[str]) -> str | None:
    """Return a pointer in which a name that is neither documented nor known is "?": it may be a person's."""
    if not pointer:
        return pointer
    at: Any = shape
    shown, pattern = "", ""
    for token in pointer.split("/")[1:]:
        field = next((each for each in at.fields if each.name == token), None) if isinstance(at, shapes.Shape) else None
        is_position = not isinstance(at, shapes.Shape) and _POSITION.fullmatch(token) is not None
        pattern += "/*" if is_position else f"/{token}"
        shown += f"/{token}" if field or is_position or pattern in known_fields else "/?"
        at = at[0] if isinstance(at, list) else field.of if isinstance(field, shapes.ObjectField) else None
        if isinstance(field, shapes.ArrayField | shapes.MapField):
            at = [field.of]
    return shown


def _at(pointer: str, document: Any) -> Any:
    """Return what a canonical document has at a pointer to a field that must be there."""
    for name in pointer.split("/")[1:]:
        document = document[name]
    return document


class Walk:
    """One walk through one document, and what it found."""

    def __init__(self, keep: Trie, plaintext_fields: Iterable[str], most_parts: int, landing: Landing) -> None:
        self._keep = keep
        self._open = frozenset(plaintext_fields)
        self._rounds, self._takes_objects = landing.excess_decimals == "round", landing.lists_as_objects
        self._most_parts = most_parts
        self.missing_fields: set[str] = set()
        self.counts: dict[str, int] = {}
        self.sums: dict[str, Decimal] = {}
        self.rounded = 0
        self.encrypted: dict[str, Any] = {}
        self.unknown = Sorted()

    def document(self, tree: Any, shape: shapes.Shape) -> dict[str, Any]:
        """Return the canonical document of `tree`; raise InvalidDocumentError where its shape is wrong."""
        canonical = self._object(tree, shape, "", "", self._keep)
        if self.unknown.unknown:
            canonical["_unknown"] = self.unknown.types()
        if self.unknown.kept:
            canonical["_kept"] = self.unknown.by_pointer()
        self.encrypted.update(self.unknown.encrypted)
        return canonical

    def _object(self, value: Any, shape: shapes.Shape, at: str, pattern: str, keep: Trie) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise exact.InvalidDocumentError("wrong_type", at)
        canonical: dict[str, Any] = {}
        for field in shape.fields:
            own = value.get(field.name, _ABSENT)
            place, path = f"{at}/{field.name}", f"{pattern}/{field.name}"
            if own is _ABSENT or own is None:
                self._missing(field, canonical, place, path, absent=own is _ABSENT)
            elif isinstance(field, shapes.Field):
                self._leaf(field, own, canonical, place)
            elif isinstance(field, shapes.ObjectField):
                below = within(keep, field.name)
                canonical[field.name] = self._object(own, field.of, place, path, below)
            elif isinstance(field, shapes.ArrayField):
                canonical[field.name] = self._many(field, own, place, path, within(keep, field.name, "*"))
            else:
                canonical[field.name] = self._keyed(field, own, place, path, within(keep, field.name, "*"))
        if len(value) > len(shape.fields) or not value.keys() <= shape.names:
            names = shape.names
            rest = {key: each for key, each in value.items() if key not in names}
            self.unknown.members(rest, at, pattern, keep)
        return canonical

    def _missing(
        self, field: shapes.AnyField, canonical: dict[str, Any], place: str, path: str, *, absent: bool
    ) -> None:
        if isinstance(field, shapes.Field | shapes.ObjectField) and field.required:
            raise exact.InvalidDocumentError("no_id", place)
        if absent and isinstance(field, shapes.Field) and field.is_optional:
            return
        self.missing_fields.add(f"{path[1:]}={'absent' if absent else 'null'}")
        if not absent:
            hidden = isinstance(field, shapes.Field) and field.is_hidden
            canonical[f"has_{field.name}" if hidden else field.name] = None

    def _leaf(self, field: shapes.Field, own: Any, canonical: dict[str, Any], place: str) -> None:
        if field.leaf == "money":
            text, amount, rounded = exact.money(own, place, rounds=self._rounds)
            canonical[field.name] = text
            self.rounded += rounded
            total = self.sums.get(field.adds_to, Decimal(0))
            self.sums[field.adds_to] = exact.EXACT.add(total, amount)
            return
        valid = exact.LEAVES[field.leaf](own, place)
        if not field.is_hidden:
            canonical[field.name] = valid
            return
        canonical[f"has_{field.name}"] = valid != ""
        if field.name in self._open:
            canonical[field.name] = valid
        else:
            self.encrypted[place] = valid

    def _many(self, field: shapes.ArrayField, own: Any, at: str, pattern: str, keep: Trie) -> list[Any]:
        if isinstance(own, dict) and (not own or self._takes_objects):
            self.missing_fields.add(f"{pattern[1:]}=type")
            own = elements_of(own)
        if not isinstance(own, list):
            raise exact.InvalidDocumentError("wrong_type", at)
        self._count(field, own)
        return [self._element(field.of, element, f"{at}/{no}", f"{pattern}/*", keep) for no, element in enumerate(own)]

    def _keyed(self, field: shapes.MapField, own: Any, at: str, pattern: str, keep: Trie) -> dict[str, Any]:
        own = self._object_of(own, pattern)
        if not isinstance(own, dict):
            raise exact.InvalidDocumentError("wrong_type", at)
        for key in own:
            if not exact.ID_KEY.fullmatch(key) or int(key) not in exact.INT64:
                raise exact.InvalidDocumentError("bad_dictionary_key", f"{at}/{exact.escaped(exact.safe_key(key))}")
        self._count(field, own)
        return {k: self._element(field.of, own[k], f"{at}/{k}", f"{pattern}/*", keep) for k in sorted(own, key=int)}

    def _object_of(self, own: Any, pattern: str) -> Any:
        """Return an empty object for an empty array, which PHP writes in its place; anything else as it is."""
        if own != []:
            return own
        self.missing_fields.add(f"{pattern[1:]}=type")
        return {}

    def _count(self, field: shapes.ArrayField | shapes.MapField, own: Sized) -> None:
        """Count elements before they are walked: too many are not."""
        self.counts[field.counted_as] = self.counts.get(field.counted_as, 0) + len(own)
        check_parts(self.counts.values(), self._most_parts)

    def _element(self, shape: shapes.Shape, own: Any, at: str, pattern: str, keep: Trie) -> Any:
        if own is None:
            self.missing_fields.add(f"{pattern[1:]}=null")
            return None
        return self._object(self._object_of(own, pattern), shape, at, pattern, keep)

    def store(self, tree: dict[str, Any], record: StoreRecord) -> dict[str, Any]:
        """Return a store's canonical document; raise InvalidDocumentError for a wrong type where a pointer leads."""
        named: dict[str, tuple[str, ...]] = {
            **{field.name: (getattr(record, f"{field.name}_pointer"),) for field in shapes.STORE.leaves},
            "menu_ids": record.menu_id_pointers,
            "attributes": record.allowed_pointers,
        }
        patterns = {pointer: name for name, each in reversed(named.items()) for pointer in each if pointer}
        found = self.unknown
        found.members(tree, "", "", trie(patterns))
        held = {name: [kept for kept in found.kept if kept[0] in pointers] for name, pointers in named.items()}
        canonical: dict[str, Any] = {}
        for name, leaf, *_ in shapes.STORE.leaves:
            if not named[name][0]:
                continue
            _, pointer, value = held[name][0] if held[name] else ("", named[name][0], _ABSENT)
            if value is not _ABSENT and value is not None:
                canonical[name] = exact.LEAVES[leaf](value, pointer)
                continue
            if name == "id":
                raise exact.InvalidDocumentError("no_id", pointer)
            self.missing_fields.add(f"{name}={'absent' if value is _ABSENT else 'null'}")
            if value is None:
                canonical[name] = None
        canonical["menu_ids"] = list(self._menu_ids(held["menu_ids"]))
        self.counts["menu_ids"] = len(canonical["menu_ids"])
        if held["attributes"]:
            canonical["attributes"] = attributes(held["attributes"])
        if found.unknown:
            canonical["_unknown"] = found.types()
        self.encrypted.update(found.encrypted)
        return canonical

    def _menu_ids(self, held: list[tuple[str, str, Any]]) -> Iterator[int]:
        if not held:
            self.missing_fields.add("menu_ids=absent")
        for _, pointer, value in held:
            if value is None:
                self.missing_fields.add("menu_ids=null")
            else:
                yield exact.integer(value, pointer)


# How much work one document may cause. Few bytes make a row: an order of 5 MiB may have a million lines, each of which
# is joined to every price of its product, and thirty shared levels of modifiers are 2 ** 31 paths in a few kilobytes.
# So counts of paths are added up from the leaves, each reference once; only what has a cycle below it is walked, and no
# further than the limits.
PATHS_OF_A_PRODUCT, PATHS_OF_A_MENU, MODIFIERS_OF_A_PATH = 10_000, 500_000, 32


class _Below(NamedTuple):
    """How many paths go on from a modifier, and how many modifiers the longest has."""

    paths: int
    depth: int


_LEAF = _Below(0, 0)
_References = dict[int, list[int | None]]  # of a product or a modifier; None for a null in place of a reference


def paths_of_products(menu: dict[str, Any]) -> Iterator[tuple[int, int | None]]:
    """Yield each product and how many paths it has; None if there are too many, or one is too long."""
    children = _references(menu.get("modifiers"), "children")
    settled = _settled(children)
    for product, references in _references(menu.get("products"), "modifiers").items():
        yield product, _paths(references, children, settled)


def _references(of: Mapping[str, dict[str, Any] | None] | None, member: str) -> _References:
    return {
        int(key): [each and each["modifier_id"] for each in (value or {}).get(member) or ()]
        for key, value in (of or {}).items()
    }


def _settled(children: _References) -> dict[int, _Below]:
    """Return the paths below each modifier that has no cycle below it."""
    parents: defaultdict[int | None, list[int]] = defaultdict(list)
    open_references = {}
    for modifier, references in children.items():
        inner = [each for each in references if each in children]
        open_references[modifier] = len(inner)
        for each in inner:
            parents[each].append(modifier)
    found: dict[int, _Below] = {}
    ready = [modifier for modifier, count in open_references.items() if not count]
    while ready:
        modifier = ready.pop()
        below = [found.get(each, _LEAF) if each is not None else _LEAF for each in children[modifier]]
        paths = sum(1 + each.paths for each in below)
        found[modifier] = _Below(min(paths, PATHS_OF_A_MENU), max((1 + each.depth for each in below), default=0))
        for parent in parents[modifier]:
            open_references[parent] -= 1
            if not open_references[parent]:
                ready.append(parent)
    return found


def _paths(references: Sequence[int | None], children: _References, settled: Mapping[int, _Below]) -> int | None:
    """Return how many paths a product has, each to a repeated modifier at most; None for too many or too long ones."""
    paths = 0
    waiting: list[tuple[int | None, tuple[int, ...]]] = [(each, ()) for each in references]
    while waiting:
        modifier, above = waiting.pop()
        paths += 1
        depth = len(above) + 1
        if modifier is not None and modifier in children and modifier not in above:
            if (known := settled.get(modifier)) is not None:
                paths += known.paths
                depth += known.depth
            elif len(children[modifier]) <= PATHS_OF_A_PRODUCT:
                waiting.extend((each, (*above, modifier)) for each in children[modifier])
            else:
                return None
        if depth > MODIFIERS_OF_A_PATH or paths + len(waiting) > PATHS_OF_A_PRODUCT:
            return None
    return paths


REASON = "too_many_parts"
_PRICES_OF_A_PRODUCT = 1_000  # in one menu: each line of that product is compared with all of them


def check_parts(counts: Iterable[int], most: int) -> None:
    """Raise InvalidDocumentError for a document whose parts, such as lines and modifiers, are more than `most`."""
    if sum(counts) > most:
        raise exact.InvalidDocumentError(REASON, "")


def check_menu(menu: dict[str, Any]) -> None:
    """Raise InvalidDocumentError for a canonical menu with too many prices or modifier paths of one product."""
    prices = Counter(
        price["product_id"]
        for group in menu["menu"].get("price_groups") or ()
        for price in (group or {}).get("prices") or ()
        if price is not None
    )
    if prices and max(prices.values()) > _PRICES_OF_A_PRODUCT:
        raise exact.InvalidDocumentError(REASON, "/menu/price_groups")
    total = 0
    for product, paths in paths_of_products(menu):
        if paths is None:
            raise exact.InvalidDocumentError(REASON, f"/products/{product}")
        total += paths
        if total > PATHS_OF_A_MENU:
            raise exact.InvalidDocumentError(REASON, "/products")
