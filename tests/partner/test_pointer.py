"""JSON pointers: RFC 6901, and the star."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pipelines.partner.pointer import PointerError, get, get_all, parse, raw_at

# The document and the pointers of RFC 6901 section 5.
DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_examples_of_the_rfc(pointer: str, value: Any) -> None:
    """Each example of RFC 6901 section 5 gives what it says there."""
    assert get(DOCUMENT, pointer) == value
    found = raw_at(msgspec.json.encode(DOCUMENT), parse(pointer))
    assert found is not None
    assert msgspec.json.decode(found) == value


@pytest.mark.parametrize(
    ("body", "pointer", "value"),
    [
        (b'{"a":1,"\\u0061":2}', "/a", 2),
        (b' [0, {"a": [null, "x"]}]', "/1/a/1", "x"),
        (b'{"0":{"1":3}}', "/0/1", 3),
        (b'{"\xff":"\xff","a":4}', "/a", 4),
        (b'{"a":5', "/a", None),
        (b"[1,2]", "/2", None),
        (b"[1,2]", "/00", None),
        (b"[1,2]", "/a", None),
        (b"[" + b"0," * 2000 + b"6]", "/2000", None),
        (b"[" + b"0," * 999 + b"6]", "/999", 6),
        (b"1", "/a", None),
        (b"[" * 100_000, "/0", None),
        (b'{"a":' * 100_000, "/a", None),
    ],
    ids=range(13),
)
def test_the_text_at_a_pointer(body: bytes, pointer: str, value: Any) -> None:
    """It is the last of a repeated name; bytes that are no JSON, or too deep, have nothing anywhere."""
    found = raw_at(body, parse(pointer))
    assert (None if found is None else msgspec.json.decode(found)) == value


def test_an_escaped_tilde_and_one_stay_apart() -> None:
    """~01 is the key ~1, never a slash."""
    assert get({"~1": "right", "/": "wrong"}, "/~01") == "right"


@pytest.mark.parametrize(
    "pointer",
    [
        "/foo/2",
        "/foo/-",
        "/foo/00",
        "/foo/-1",
        "/foo/+1",
        "/foo/ 1",
        "/foo/²",
        "/none",
        "/foo/0/x",
        "/foo/" + "9" * 5000,
    ],
)
def test_nothing_there_is_an_error(pointer: str) -> None:
    """A pointer that leads nowhere raises, an index with a sign or leading zero too."""
    with pytest.raises(PointerError):
        get(DOCUMENT, pointer)


@pytest.mark.parametrize("pointer", ["foo", "#/foo", "/a~2b", "/a~"])
def test_what_is_no_pointer_is_refused(pointer: str) -> None:
    """Text that RFC 6901 does not allow is refused, even where a key of that name exists."""
    with pytest.raises(PointerError):
        get({"foo": 1, "#": {"foo": 1}, "a~2b": 1, "a~": 1}, pointer)


def test_an_error_shows_no_value() -> None:
    """The message names the pointer and nothing of the document."""
    with pytest.raises(PointerError) as caught:
        get({"phone": "+49 30 1234567"}, "/phone/0")
    assert "1234567" not in str(caught.value)


def test_null_is_a_value() -> None:
    """A null is there; an absent key is not."""
    assert get({"a": None}, "/a") is None


@pytest.mark.parametrize(
    ("pointer", "values"),
    [
        ("/menus/*/id", [1, 2]),
        ("/menus/*", [{"id": 1}, {"name": "x"}, {"id": 2}]),
        ("/menus/0/id", [1]),
        ("/none/*", []),
        ("/scalar/*", []),
        ("/starred/*", ["a key"]),
        ("/groups/*/menus/*/id", [7, 8, 9]),
    ],
)
def test_a_star_is_every_element(pointer: str, values: list[Any]) -> None:
    """A star goes through arrays in order, skips missing members and is a plain key in an object."""
    document = {
        "menus": [{"id": 1}, {"name": "x"}, {"id": 2}],
        "scalar": 5,
        "starred": {"*": "a key"},
        "groups": [{"menus": [{"id": 7}]}, {"menus": []}, {"menus": [{"id": 8}, {"id": 9}]}],
    }
    assert get_all(document, pointer) == values
