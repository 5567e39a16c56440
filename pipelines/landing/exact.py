"""Bytes → a JSON tree in which nothing was lost or guessed: numbers keep their own text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    # A node's parent and its key or index there; None for the whole document.
    _Place = tuple["_Place", str | int] | None


class InvalidDocumentError(Exception):
    """A body cannot be taken: why (a short code) and where (a JSON pointer), never a value."""

    def __init__(self, reason: str, pointer: str | None = None) -> None:
        super().__init__(reason if pointer is None else f"{reason} at {pointer or 'the whole body'}")
        self.reason = reason
        self.pointer = pointer


class IntegerText(str):
    """The text of a number that is written as an integer."""

    __slots__ = ()


class Fraction(str):
    """The text of a number that has a fraction or an exponent."""

    __slots__ = ()


# A string, also an unfinished one, is one token: so each byte is looked at once.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ID_KEY = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_MANY_DIGITS = re.compile(r"(?:[^0-9]*[0-9]){6}")  # a telephone number, a date of birth
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$.:-]{0,63}|0|-?[1-9][0-9]{0,18}", re.ASCII)


def read(body: bytes, *, max_bytes: int, max_depth: int, id_maps: Collection[str] = ()) -> Any:
    """Return the tree of `body`; raise InvalidDocumentError for anything that is not plainly JSON within the limits.

    `id_maps` are pointers to objects whose keys are ids, which may stand in an error's pointer.
    """
    if len(body) > max_bytes:
        raise InvalidDocumentError("too_large", "")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidDocumentError("invalid_utf8", "") from None
    if body.count(b"[") + body.count(b"{") > max_depth:
        _check_depth(text, max_depth)
    doubled: list[tuple[dict[str, Any], str]] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        tree = dict(found)
        if len(tree) != len(found):
            doubled.append((tree, _repeated(found, tree)))
        return tree

    try:
        tree = json.loads(
            text, object_pairs_hook=pairs, parse_int=IntegerText, parse_float=Fraction, parse_constant=_not_finite
        )
    except RecursionError:
        raise InvalidDocumentError("too_deep", "") from None
    except ValueError:
        raise InvalidDocumentError("not_json", "") from None
    if doubled:
        at, key = doubled[0]
        raise InvalidDocumentError("duplicate_key", _pointer((_place_of(tree, at), key), id_maps))
    if _SURROGATE.search(text):
        _check_surrogates(tree, id_maps)
    return tree


def parsed(content: bytes) -> Any:
    """Return the tree of JSON that we wrote ourselves, numbers in their own text."""
    return json.loads(content, parse_int=IntegerText, parse_float=Fraction)


def type_name(value: Any) -> str:
    """Return JSON's own name of a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, IntegerText | Fraction):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def shown(key: str) -> str:
    """Return a key as it may stand in a pointer or a list: one that does not look like a name is "?".

    So is one of six digits and more, which may be a telephone number, and whatever has the sign of an e-mail address.
    """
    return key if _PLAIN_KEY.fullmatch(key) and not _MANY_DIGITS.match(key) else "?"


def escaped(key: str) -> str:
    """Return a key as a token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def plain(value: Any) -> Any:
    """Return a tree that encodes to JSON with every number in its own text."""
    if isinstance(value, IntegerText | Fraction):
        return msgspec.Raw(value.encode())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def _repeated(found: list[tuple[str, Any]], tree: dict[str, Any]) -> str:
    """Return the first key that was there before: the dict has its keys in their order, each once.

    Side by side, without a look-up: a body may hold a million keys.
    """
    return next(key for (key, _), each in zip(found, (*tree, None), strict=False) if key != each)


def _not_finite(_: str) -> NoReturn:
    raise InvalidDocumentError("not_finite", "")


def _check_depth(text: str, max_depth: int) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        bracket = token.group()
        if bracket in {"[", "{"}:
            depth += 1
            if depth > max_depth:
                raise InvalidDocumentError("too_deep", "")
        elif bracket in {"]", "}"}:
            depth -= 1


def _nodes(tree: Any) -> Iterator[tuple[_Place, Any]]:
    """Yield every node with its place, without recursion; a million nodes share the places above them."""
    waiting: list[tuple[_Place, Any]] = [(None, tree)]
    while waiting:
        place, value = waiting.pop()
        yield place, value
        if isinstance(value, dict):
            waiting.extend(((place, key), each) for key, each in value.items())
        elif isinstance(value, list):
            waiting.extend(((place, at), each) for at, each in enumerate(value))


def _pointer(place: _Place, id_maps: Collection[str]) -> str:
    """Return the JSON pointer of a place, with keys as they may be shown."""
    tokens: list[str | int] = []
    while place is not None:
        place, token = place
        tokens.append(token)
    pointer = ""
    for token in reversed(tokens):
        is_id = isinstance(token, int) or (pointer in id_maps and _ID_KEY.fullmatch(token))
        pointer += f"/{token if is_id else shown(str(token))}"
    return pointer


def _place_of(tree: Any, wanted: dict[str, Any]) -> _Place:
    # The tree may lack the place: a double within the first of two doubles is gone.
    return next((place for place, value in _nodes(tree) if value is wanted), None)


def _check_surrogates(tree: Any, id_maps: Collection[str]) -> None:
    for place, value in _nodes(tree):
        texts = value if isinstance(value, dict) else (value,) if isinstance(value, str) else ()
        for text in texts:
            try:
                text.encode()
            except UnicodeEncodeError:
                raise InvalidDocumentError("lone_surrogate", _pointer(place, id_maps)) from None
