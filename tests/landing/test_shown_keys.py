"""Keys of a body that nobody documented may be personal: no pointer or list shows one that looks like it."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.landing.exact import InvalidDocumentError, read, safe_key
from pipelines.landing.validate import Validator

if TYPE_CHECKING:
    from pipelines.settings import Settings

PERSONAL = ["+15551230000", "5551230000", "555123", "-555123", "ann@example.org", "tel_555_123_00", "born.1990.12.31"]


@pytest.mark.parametrize("key", PERSONAL)
def test_a_key_that_may_be_personal_is_not_shown(key: str) -> None:
    """Six digits or the sign of an e-mail address make a key a question mark, wherever it stands."""
    assert safe_key(key) == "?"
    with pytest.raises(InvalidDocumentError) as caught:
        read(json.dumps({"a": {key: "\ud800"}}).encode(), max_bytes=999, max_depth=9)
    assert (caught.value.code, caught.value.pointer) == ("lone_surrogate", "/a/?")
    with pytest.raises(InvalidDocumentError) as caught:
        read(f'{{"{key}":{{"b":1,"b":2}}}}'.encode(), max_bytes=999, max_depth=9)
    assert (caught.value.code, caught.value.pointer) == ("duplicate_key", "/?/b")


@pytest.mark.parametrize("key", ["loyalty_points", "$ref", "12345", "utf8", "iso_8859-1", "v1.2.3", "a" * 64])
def test_a_name_is_shown(key: str) -> None:
    """Names, short numbers and versions are shown, so that somebody can allow them."""
    assert safe_key(key) == key


@pytest.mark.parametrize(
    ("kind", "text", "pointer"),
    [
        ("menus", '{"products":{"123456789":{"name":"\\ud800"}}}', "/products/123456789/name"),
        ("menus", '{"modifiers":{"123456789":1,"123456789":2}}', "/modifiers/123456789"),
        ("menus", '{"products":{"ann@example.org":{"name":"\\ud800"}}}', "/products/?/name"),
        ("menus", '{"other":{"123456789":{"name":"\\ud800"}}}', "/other/?/name"),
        ("orders", '{"products":{"123456789":{"name":"\\ud800"}}}', "/?/?/?"),
    ],
)
def test_ids_of_menus_stay(settings: Settings, kind: str, text: str, pointer: str) -> None:
    """The keys of a menu's products and modifiers are ids: an error shows them, and no others."""
    with pytest.raises(InvalidDocumentError) as caught:
        Validator(settings, kind).validate(text.encode())
    assert caught.value.pointer == pointer


def test_unknown_fields_are_listed_without_personal_keys(settings: Settings) -> None:
    """The list of unknown fields has names alone, and what looks personal once."""
    order: dict[str, Any] = {"id": 7, "loyalty": 1} | dict.fromkeys(PERSONAL, "x")
    document = json.loads(Validator(settings, "orders").validate(json.dumps(order).encode()).document)
    assert document["_unknown"] == {"/loyalty": "number", "/?": "string"}


@pytest.mark.slow
def test_a_million_places_share_what_is_above_them() -> None:
    """An error in a body of many nodes far down does not write out the pointer of each."""
    deep, name = 50, "n" * 60
    body = f'{{"{name}":' * deep + "[" + "0," * 50_000 + '"\\ud800"]' + "}" * deep
    tracemalloc.start()
    try:
        with pytest.raises(InvalidDocumentError) as caught:
            read(body.encode(), max_bytes=5_000_000, max_depth=64)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000  # written out: 150 MB
    finally:
        tracemalloc.stop()
    assert caught.value.pointer == f"/{name}" * deep + "/50000"
