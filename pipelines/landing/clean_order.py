"""An order that is plainly clean: its types, built from the shape, and what its bytes and values show at a glance.

When in doubt a function returns None, and the walk decides.
"""

from __future__ import annotations

import operator
import re
from decimal import Decimal, Inexact
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from pipelines.landing.leaves import MONEY_LIMIT
from pipelines.landing.shape import ORDER, SUMS, ArrayField, Field, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_TYPES: dict[str, Any] = {"integer": _INT64, "text": str, "time": str, "money": Decimal}
_DECIMALS = 4
_ZERO = Decimal(0)
# A blank between key and colon would hide a key from being counted; Decimal would take an amount in a string.
# (Several searches that each begin with a literal are several times faster than one that begins with a choice.)
_MONEY_ENDS = sorted({f.name.rpartition("_")[2] for _, f in ORDER.walk() if isinstance(f, Field) and f.leaf == "money"})
_ODD = [
    re.compile(pattern).search
    for pattern in (rb'"[ \t\n\r]+:', *(rb'%s":[ \t\n\r]*"' % each.encode() for each in _MONEY_ENDS))
]
# A key whose letters are escaped would hide from the above.
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")


class Clean(Struct, forbid_unknown_fields=True, gc=False):
    """Documented fields are required unless optional; `has_…` is ours: a body that brings it has a key too many."""


class Level(NamedTuple):
    """The objects at one path of an order: those of one documented array, or the order itself."""

    path: str
    parent: int  # place of the level that holds the array; -1 for the order
    array: str  # the array's name there
    keys: int
    optional: tuple[str, ...]  # of the keys
    hidden: tuple[tuple[str, str, bool], ...]  # name, has_<name>, is it a number
    times: tuple[str, ...]
    money: dict[str, tuple[str, ...]]  # sum → fields
    numbers: tuple[str, ...]  # kept as their own bytes
    null_paths: tuple[str, ...]  # of the other fields that may be null
    values_of: Callable[[Any], tuple[Any, ...]]  # of the same fields


def _struct(name: str, shape: Shape) -> type[Clean]:
    """Return the type of a clean object; hidden members are replaced after decoding, so it may be unset."""
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for field in shape.fields:
        if isinstance(field, ArrayField):
            fields.append((field.name, list[_struct(f"{name}_{field.name}", field.of)]))  # type: ignore[misc]
        elif not isinstance(field, Field):
            raise TypeError(f"an order has no {type(field).__name__}: {field.name}")
        elif field.is_hidden:
            fields.append((f"has_{field.name}", UnsetType, UNSET))  # set after decoding: no body has this type
            fields.append((field.name, Raw | UnsetType if field.leaf == "number" else str | None | UnsetType))
        elif field.is_optional:
            fields.append((field.name, _TYPES[field.leaf] | None | UnsetType, UNSET))
        else:
            fields.append((field.name, _TYPES[field.leaf] if field.required else _TYPES[field.leaf] | None))
    return msgspec.defstruct(name, fields, bases=(Clean,), kw_only=True, gc=False)  # type: ignore[return-value]


def _levels(shape: Shape, path: str = "", parent: int = -1, array: str = "", at: int = 0) -> list[Level]:
    money: dict[str, tuple[str, ...]] = {}
    for field in shape.leaves:
        if field.leaf == "money":
            money[field.adds_to] = (*money.get(field.adds_to, ()), field.name)
    numbers = tuple(field.name for field in shape.leaves if field.leaf == "number")
    nullable = tuple(sorted(f.name for f in shape.leaves if not f.required and f.name not in numbers))
    own = Level(
        path=path,
        parent=parent,
        array=array,
        keys=len(shape.fields),
        optional=tuple(field.name for field in shape.leaves if field.is_optional),
        hidden=tuple((f.name, f"has_{f.name}", f.leaf == "number") for f in shape.leaves if f.is_hidden),
        times=tuple(field.name for field in shape.leaves if field.leaf == "time"),
        money=money,
        numbers=numbers,
        null_paths=tuple(f"{path}{name}=null" for name in nullable),
        values_of=_getter(nullable),
    )
    found = [own]
    for each in shape.fields:
        if isinstance(each, ArrayField):
            found += _levels(each.of, f"{path}{each.name}/*/", at, each.name, at + len(found))
    return found


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gives the values of these fields, always as a tuple."""
    if not names:
        return lambda _: ()
    get = operator.attrgetter(*names)
    return get if len(names) > 1 else lambda held: (get(held),)


CleanOrder = _struct("CleanOrder", ORDER)
LEVELS = _levels(ORDER)
_BELOW = [(level.parent, operator.attrgetter(level.array)) for level in LEVELS[1:]]
_OPTIONAL = [(at, name) for at, level in enumerate(LEVELS) for name in level.optional]
_POINTERS = [[f"/{level.array}/{at}" for at in range(100)] for level in LEVELS]
_ADDED = [  # sum → (level, its field, or all fields of the sum at this level)
    [
        (at, operator.attrgetter(*names), len(names) > 1)
        for at, level in enumerate(LEVELS)
        for names in (level.money.get(name),)
        if names
    ]
    for name in SUMS["orders"]
]


def objects_of(order: Any) -> list[list[Any]]:
    """Return the objects of an order, by level."""
    found = [[order]]
    for parent, array_of in _BELOW:
        found.append(array_of(order) if parent == 0 else list(chain.from_iterable(map(array_of, found[parent]))))
    return found


def pointers_of(objects: list[list[Any]], level: int) -> Iterable[str]:
    """Return the JSON pointers of the objects of a level, in their order."""
    parent, array = LEVELS[level].parent, LEVELS[level].array
    if parent < 0:
        return ("",)
    if parent == 0 and len(objects[level]) <= len(_POINTERS[level]):
        return _POINTERS[level]
    holders = zip(pointers_of(objects, parent), objects[parent])  # noqa: B905 -- pointers may go on
    return (f"{pointer}/{array}/{at}" for pointer, held in holders for at in range(len(getattr(held, array))))


def keys_of(objects: list[list[Any]]) -> int:
    """Return how many keys a clean order has."""
    keys = sum([level.keys * len(held) for level, held in zip(LEVELS, objects, strict=True)])
    return keys - sum(getattr(each, name) is UNSET for at, name in _OPTIONAL for each in objects[at])


def is_plain(body: bytes) -> bool:
    """Tell whether keys can be counted and amounts trusted to be numbers, from the bytes alone."""
    for odd in _ODD:
        if odd(body):
            return False
    if _ESCAPED_LETTER.search(body):
        return False
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            return False
    return True


def sums_of(objects: list[list[Any]], nulls: int) -> tuple[Decimal, ...] | None:
    """Return the sums of an order's money, as in shape.SUMS; None if an amount needs a closer look."""
    groups: list[list[Any]] = []
    amounts: list[Any] = []
    for parts in _ADDED:
        group: list[Any] = []
        for at, get, is_several in parts:
            held = objects[at]
            if at == 0:
                group += get(held[0]) if is_several else (get(held[0]),)
            else:
                group += [amount for each in held for amount in get(each)] if is_several else map(get, held)
        if nulls:  # comparing a Decimal with None is slow: none is looked for where the bytes hold none
            group = [amount for amount in group if amount is not None]
        if _OPTIONAL:
            group = [amount for amount in group if amount is not UNSET]
        groups.append(group)
        amounts += group
    if not amounts:
        return (_ZERO,) * len(groups)
    if max(amounts) >= MONEY_LIMIT or min(amounts) <= -MONEY_LIMIT:
        return None
    try:
        sums = tuple([sum(group, _ZERO) for group in groups])
        # The sum has the most decimals of any of them, and shows an exponent if all have one.
        text = str(sum(sums, _ZERO))
    except Inexact:
        return None
    point = text.rfind(".")
    if "E" in text or (point >= 0 and len(text) - point - 1 > _DECIMALS):
        return None
    return sums


def nulls_of(objects: list[list[Any]], nulls: int) -> list[str]:
    """Return the paths that are null; `nulls` is how often the bytes say null, so that a search can end early."""
    found: list[str] = []
    for level, held in zip(LEVELS, objects, strict=True):
        paths, values_of = level.null_paths, level.values_of
        for each in held:
            found += [path for path, value in zip(paths, values_of(each)) if value is None]  # noqa: B905 -- hot
            for name in level.numbers:
                if bytes(getattr(each, name)) == b"null":
                    found.append(f"{level.path}{name}=null")
        if len(found) == nulls:
            break
    return sorted(set(found))
