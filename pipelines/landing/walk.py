"""Walk a document by its documented shape: validate every value, split off personal data, count and add up.

This defines the accepted documents; a faster path must give the same.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.landing.exact import EXACT, ID_KEY, INT64, LEAVES, InvalidDocumentError, escaped, money, shown
from pipelines.landing.shape import ArrayField, Field, MapField, ObjectField, Shape
from pipelines.landing.unknown_fields import Sorted, Trie, within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized

    from pipelines.landing.budget import Budget

_ABSENT = object()


class Walk:
    """One walk through one document, and what it found."""

    def __init__(
        self, keep: Trie, plaintext_fields: Iterable[str] = (), *, rounds: bool = False, budget: Budget | None = None
    ) -> None:
        self._keep = keep
        self._open = frozenset(plaintext_fields)
        self._rounds = rounds
        self._budget = budget
        self.missing_fields: set[str] = set()
        self.counts: dict[str, int] = {}
        self.sums: dict[str, Decimal] = {}
        self.rounded = 0
        self.encrypted: dict[str, Any] = {}
        self.unknown = Sorted()

    def document(self, tree: Any, shape: Shape) -> dict[str, Any]:
        """Return the canonical document of `tree`; raise InvalidDocumentError where its shape is wrong."""
        canonical = self._object(tree, shape, "", "", self._keep)
        if self.unknown.unknown:
            canonical["_unknown"] = self.unknown.types()
        if self.unknown.kept:
            canonical["_kept"] = self.unknown.by_pointer()
        self.encrypted.update(self.unknown.encrypted)
        return canonical

    def _object(self, value: Any, shape: Shape, at: str, pattern: str, keep: Trie) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidDocumentError("wrong_type", at)
        canonical: dict[str, Any] = {}
        for field in shape.fields:
            own = value.get(field.name, _ABSENT)
            place, path = f"{at}/{field.name}", f"{pattern}/{field.name}"
            if own is _ABSENT or own is None:
                self._missing(field, canonical, place, path, absent=own is _ABSENT)
            elif isinstance(field, Field):
                self._leaf(field, own, canonical, place)
            elif isinstance(field, ObjectField):
                below = within(keep, field.name)
                canonical[field.name] = self._object(own, field.of, place, path, below)
            elif isinstance(field, ArrayField):
                canonical[field.name] = self._many(field, own, place, path, within(keep, field.name, "*"))
            else:
                canonical[field.name] = self._keyed(field, own, place, path, within(keep, field.name, "*"))
        if len(value) > len(shape.fields) or not value.keys() <= shape.names:
            names = shape.names
            rest = {key: each for key, each in value.items() if key not in names}
            self.unknown.members(rest, at, pattern, keep)
        return canonical

    def _missing(
        self,
        field: Field | ObjectField | ArrayField | MapField,
        canonical: dict[str, Any],
        place: str,
        path: str,
        *,
        absent: bool,
    ) -> None:
        if isinstance(field, Field | ObjectField) and field.required:
            raise InvalidDocumentError("no_id", place)
        if absent and isinstance(field, Field) and field.is_optional:
            return
        self.missing_fields.add(f"{path[1:]}={'absent' if absent else 'null'}")
        if not absent:
            hidden = isinstance(field, Field) and field.is_hidden
            canonical[f"has_{field.name}" if hidden else field.name] = None

    def _leaf(self, field: Field, own: Any, canonical: dict[str, Any], place: str) -> None:
        if field.leaf == "money":
            text, amount, rounded = money(own, place, rounds=self._rounds)
            canonical[field.name] = text
            self.rounded += rounded
            total = self.sums.get(field.adds_to, Decimal(0))
            self.sums[field.adds_to] = EXACT.add(total, amount)
            return
        valid = LEAVES[field.leaf](own, place)
        if not field.is_hidden:
            canonical[field.name] = valid
            return
        canonical[f"has_{field.name}"] = valid != ""
        if field.name in self._open:
            canonical[field.name] = valid
        else:
            self.encrypted[place] = valid

    def _many(self, field: ArrayField, own: Any, at: str, pattern: str, keep: Trie) -> list[Any]:
        if not isinstance(own, list):
            raise InvalidDocumentError("wrong_type", at)
        self._count(field, own)
        return [self._element(field.of, element, f"{at}/{no}", f"{pattern}/*", keep) for no, element in enumerate(own)]

    def _keyed(self, field: MapField, own: Any, at: str, pattern: str, keep: Trie) -> dict[str, Any]:
        if not isinstance(own, dict):
            raise InvalidDocumentError("wrong_type", at)
        for key in own:
            if not ID_KEY.fullmatch(key) or int(key) not in INT64:
                raise InvalidDocumentError("bad_dictionary_key", f"{at}/{escaped(shown(key))}")
        self._count(field, own)
        return {
            key: self._element(field.of, own[key], f"{at}/{key}", f"{pattern}/*", keep) for key in sorted(own, key=int)
        }

    def _count(self, field: ArrayField | MapField, own: Sized) -> None:
        """Count elements before they are walked: too many are not."""
        self.counts[field.counted_as] = self.counts.get(field.counted_as, 0) + len(own)
        if self._budget is not None:
            self._budget.check(self.counts.values())

    def _element(self, shape: Shape, own: Any, at: str, pattern: str, keep: Trie) -> Any:
        if own is None:
            self.missing_fields.add(f"{pattern[1:]}=null")
            return None
        return self._object(own, shape, at, pattern, keep)
