"""Make documents, trees and damaged bytes from a source of chance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pipelines.landing.shape import SHAPES, ArrayField, Field, MapField, ObjectField, Shape

if TYPE_CHECKING:
    from random import Random

_TEXTS = ("", "Pizza", "Größe 4 é", "🍕", 'a"b', "\u2028", "null", "a\x7f", "\x1b[2J", "~1/0", "2026-10-01", "=1+1")
_TIMES = ("2026-10-01T12:00:00Z", "2026-10-01T12:00:00.5+02:00", "2024-02-29T23:59:59")
_MONEY = ("0", "1.5", "12.50", "-0.25", "1234567.8901", "1e2", "99999999999999.9999", "0.00001", "-0")
_NUMBERS = ("7", "-1", "9223372036854775807", "9223372036854775808", "1.0", "12.345678901")
_PIECES = (
    b"null", b"true", b"{}", b"[]", b'"', b",", b":", b"\\u0041", b"\\ud800", b"\xff", b"\x00", b"1e999", b"NaN",
    b"E+2", b'"id":7,', b'"has_user_phone":true,', b'"x":{"y":[1.10,{"z":null}]},', b" ", b"\n", b"~2",
    b"//", b"[" * 70,
)  # fmt: skip


def document(chance: Random, kind: str) -> bytes:
    """Return a document of a kind as JSON text, most of it as the service sends it."""
    if kind == "stores":
        record = {"id": chance.randrange(99), "name": "N", "timezone": "UTC", "menu_ids": [1, 2], "x": tree(chance, 2)}
        return json.dumps(record).encode()
    return _object(chance, SHAPES[kind], chance.choice([0, 0, 0.01, 0.05])).encode()


def _object(chance: Random, shape: Shape, odd: float) -> str:
    members = []
    for field in shape.fields:
        if not (isinstance(field, Field | ObjectField) and field.required) and chance.random() < odd:
            if chance.random() < 0.5:
                members.append((field.name, "null"))
            continue
        members.append((field.name, _value(chance, field, odd)))
    if odd and chance.random() < 0.15:
        members.append((chance.choice(["extra", "x~/y", "", "7"]), json.dumps(tree(chance, 3))))
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members) + "}"


def _value(chance: Random, field: Any, odd: float) -> str:
    if isinstance(field, ArrayField):
        return "[" + ",".join(_object(chance, field.of, odd) for _ in range(chance.randrange(3))) + "]"
    if isinstance(field, MapField):
        keys = chance.sample(range(100, 120), chance.randrange(3))
        return "{" + ",".join(f'"{key}":{_object(chance, field.of, odd)}' for key in keys) + "}"
    if isinstance(field, ObjectField):
        return _object(chance, field.of, odd)
    return _leaf(chance, field, odd)


def _leaf(chance: Random, field: Field, odd: float) -> str:
    if chance.random() < odd / 5:
        return json.dumps(tree(chance, 1))
    if field.leaf == "integer":
        return chance.choice(_NUMBERS) if chance.random() < odd else str(chance.randrange(1, 999))
    if field.leaf in {"money", "number"}:
        return chance.choice(_MONEY) if chance.random() < odd else f"{chance.randrange(10**5) / 100:.2f}"
    return json.dumps(chance.choice(_TIMES if field.leaf == "time" else _TEXTS), ensure_ascii=chance.random() < 0.5)


def tree(chance: Random, depth: int) -> Any:
    """Return a JSON value, nested so deep at most."""
    if depth and chance.random() < 0.6:
        values = [tree(chance, depth - 1) for _ in range(chance.randrange(4))]
        if chance.random() < 0.5:
            return values
        return {chance.choice(_TEXTS) + str(n): each for n, each in enumerate(values)}
    return chance.choice([None, True, False, 0, 1, -1.5, 10**20, *_TEXTS])


def mutated(chance: Random, body: bytes, often: float = 0.5) -> bytes:
    """Return bytes with a few of them replaced, removed, doubled or put elsewhere; often as they were."""
    if chance.random() >= often:
        return body
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(body) + 1)
        to = min(len(body), at + chance.choice([0, 1, 1, 4, 30]))
        piece = chance.choice([b"", bytes([chance.randrange(256)]), chance.choice(_PIECES), body[at:to] * 2])
        body = body[:at] + piece + body[to:]
    return body
