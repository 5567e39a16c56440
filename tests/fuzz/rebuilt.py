"""Put a document together again from its landed and encrypted parts, and compare it with the source."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.landing.shape import SHAPES, ArrayField, Field, MapField, ObjectField, Shape
from pipelines.partner.pointer import parse

if TYPE_CHECKING:
    from pipelines.landing.raw_rows import ValidatedDocument

_NUMBER = (int, Decimal)


def source(body: bytes) -> Any:
    """Return the values of JSON text, numbers exactly."""
    return json.loads(body, parse_float=Decimal, parse_int=Decimal)


def rebuilt(found: ValidatedDocument, kind: str) -> Any:
    """Return the document as it was sent: canonical values, those of the vault, and unknown fields at their places."""
    encrypted = source(found.content)
    whole = _object(source(found.document), SHAPES[kind], "", encrypted)
    for pointer, value in encrypted.items():
        *path, last = parse(pointer)
        at: Any = whole
        for token in path:
            at = at[int(token)] if isinstance(at, list) else at[token]
        at[int(last) if isinstance(at, list) else last] = value
    return whole


def equal(left: Any, right: Any) -> bool:
    """Tell whether two values are the same, numbers by value and not by how they are written."""
    if isinstance(left, _NUMBER) and isinstance(right, _NUMBER) and not isinstance(left, bool):
        return type(right) is not bool and Decimal(left) == Decimal(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and bool(left == right)


def _object(canonical: Any, shape: Shape, at: str, encrypted: dict[str, Any]) -> Any:
    if canonical is None:
        return None
    whole: dict[str, Any] = {}
    for field in shape.fields:
        name, place = field.name, f"{at}/{field.name}"
        if isinstance(field, Field) and field.is_hidden:
            if name in canonical:
                whole[name] = canonical[name]
            elif f"has_{name}" in canonical:
                whole[name] = encrypted.pop(place, None)
        elif name in canonical:
            whole[name] = _value(field, canonical[name], place, encrypted)
    return whole


def _value(field: Any, value: Any, at: str, encrypted: dict[str, Any]) -> Any:
    if value is None:
        return None
    if isinstance(field, ObjectField):
        return _object(value, field.of, at, encrypted)
    if isinstance(field, ArrayField):
        return [_object(each, field.of, f"{at}/{no}", encrypted) for no, each in enumerate(value)]
    if isinstance(field, MapField):
        return {key: _object(each, field.of, f"{at}/{key}", encrypted) for key, each in value.items()}
    return Decimal(value) if field.leaf == "money" else value
