"""Validate orders that are plainly clean, quickly and exactly as the walk would; leave all others to it.

"Plainly clean" is: every documented field there, nothing else, no key twice, no amount written with an exponent or
with more than four decimals. It never rejects a body: when in doubt a function returns None, and the walk decides.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import operator
import re
from decimal import Decimal, Inexact
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from pipelines.landing.exact import CLOCK, DATE, MONEY_LIMIT
from pipelines.landing.raw_rows import EMPTY, ValidatedDocument
from pipelines.landing.shape import COUNTS, ORDER, SUMS, ArrayField, Field, Shape

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


DEPTH = 1 + 2 * max(level.path.count("*") for level in LEVELS)  # of a documented order
_DATES_KEPT = 10_000
_NUMBER_STARTS = frozenset(b"-0123456789")
_COUNTED = range(1, 1 + len(COUNTS["orders"]))  # every level but the order itself


class FastOrders:
    """The quick path; `validate` returns None for whatever it leaves to the walk."""

    def __init__(self, plaintext_fields: Iterable[str], max_bytes: int) -> None:
        allowed = frozenset(plaintext_fields)
        self._max_bytes = max_bytes
        self._decode = msgspec.json.Decoder(CleanOrder).decode
        self._encode = msgspec.json.Encoder().encode
        self._write = msgspec.json.Encoder(decimal_format="number").encode
        self._dates: set[str] = set()
        self._times = [(at, name) for at, level in enumerate(LEVELS) for name in level.times]
        self._hidden = [
            (at, [(name, has, f"/{name}", is_number, name in allowed) for name, has, is_number in level.hidden])
            for at, level in enumerate(LEVELS)
            if level.hidden
        ]

    def validate(self, body: bytes, asked: int | None) -> ValidatedDocument | None:
        """Return the walk's result for `body`, or None when it is not plainly clean."""
        objects = self._read(body) if len(body) <= self._max_bytes else None
        if objects is None or objects[0][0].id < 0 or (asked is not None and objects[0][0].id != asked):
            return None
        order = objects[0][0]
        nulls = body.count(b"null")
        sums = sums_of(objects, nulls)
        if sums is None or not self._are_times(objects):
            return None
        missing = nulls_of(objects, nulls) if nulls else []
        phone, email = order.user_phone, order.user_email
        content = self._split(objects)
        document = b"" if content is None else self._encode(order)
        if not document or b"E+" in document:  # an amount may have been written with an exponent
            return None
        return ValidatedDocument(
            id=order.id,
            document=document,
            sha256=hashlib.sha256(document).digest(),
            content=self._encode(content) if content else EMPTY,
            phone=phone,
            email=email,
            missing_fields=missing,
            rounded_count=0,
            counts=tuple([len(objects[at]) for at in _COUNTED]),
            sums=sums,
        )

    def _read(self, body: bytes) -> list[list[Any]] | None:
        """Return the objects of the order in `body`; None unless no key repeats and no amount is a string."""
        try:
            order = self._decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ArithmeticError):
            return None
        objects = objects_of(order)
        # A body that is what we would write ourselves hides nothing; any other is checked byte by byte.
        if self._write(order) == body or (is_plain(body) and body.count(b'":') == keys_of(objects)):
            return objects
        return None

    def _are_times(self, objects: list[list[Any]]) -> bool:
        dates, clock = self._dates, CLOCK.fullmatch
        for at, name in self._times:
            for each in objects[at]:
                text = getattr(each, name)
                if text is not None and not (clock(text, 10) and (text[:10] in dates or self._is_date(text[:10]))):
                    return False
        return True

    def _is_date(self, text: str) -> bool:
        """Tell whether a date is real and no offset can push it out of the calendar; remember it if so."""
        if not DATE.fullmatch(text):
            return False
        try:
            year = dt.date.fromisoformat(text).year
        except ValueError:
            return False
        if dt.MINYEAR < year < dt.MAXYEAR:
            if len(self._dates) >= _DATES_KEPT:
                self._dates.clear()
            self._dates.add(text)
            return True
        return False

    def _split(self, objects: list[list[Any]]) -> dict[str, Any] | None:
        """Take hidden members out of the objects and return them by pointer; None if a number is not one."""
        content: dict[str, Any] = {}
        for level, hidden in self._hidden:
            for held, pointer in zip(objects[level], pointers_of(objects, level)):  # noqa: B905 -- hot
                for name, has, token, is_number, is_allowed in hidden:
                    value = getattr(held, name)
                    if is_number:
                        text = bytes(value)
                        value = None if text == b"null" else value
                        if value is not None and text[0] not in _NUMBER_STARTS:
                            return None
                    if value is None:
                        setattr(held, has, None)
                        setattr(held, name, UNSET)
                        continue
                    setattr(held, has, is_number or value != "")
                    if not is_allowed:
                        content[pointer + token] = value
                        setattr(held, name, UNSET)
        return content
