"""Bytes → a JSON tree in which nothing was lost or guessed, and its single values, each validated from its own text."""

import datetime as dt
import decimal
import json
import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any, NoReturn

import msgspec

_Place = tuple["_Place", str | int] | None
# A node's parent and its key or index there; None for the whole document.


class InvalidDocumentError(Exception):
    """A body cannot be taken: why (a short code) and where (a JSON pointer), never a value."""

    def __init__(self, code: str, pointer: str | None = None) -> None:
        super().__init__(code if pointer is None else f"{code} at {pointer or 'the whole body'}")
        self.code, self.pointer = code, pointer


class IntegerText(str):
    """The text of a number that is written as an integer."""

    __slots__ = ()


class Fraction(str):
    """The text of a number that has a fraction or an exponent."""

    __slots__ = ()


# A string, also an unfinished one, is one token: so each byte is looked at once.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
ID_KEY = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
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
            # The first that was there before, side by side, without a look-up: a body may hold a million keys.
            of_tree = zip(found, (*tree, None), strict=False)
            doubled.append((tree, next(key for (key, _), each in of_tree if key != each)))
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
        # The tree may lack the place: a double within the first of two doubles is gone.
        place = next((place for place, value in _nodes(tree) if value is at), None)
        raise InvalidDocumentError("duplicate_key", _pointer((place, key), id_maps))
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


def safe_key(key: str) -> str:
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
        is_id = isinstance(token, int) or (pointer in id_maps and ID_KEY.fullmatch(token))
        pointer += f"/{token if is_id else safe_key(str(token))}"
    return pointer


def _check_surrogates(tree: Any, id_maps: Collection[str]) -> None:
    for place, value in _nodes(tree):
        texts = value if isinstance(value, dict) else (value,) if isinstance(value, str) else ()
        for text in texts:
            try:
                text.encode()
            except UnicodeEncodeError:
                raise InvalidDocumentError("lone_surrogate", _pointer(place, id_maps)) from None


INT64 = range(-(2**63), 2**63)
_INT64_DIGITS = 20
_PLAIN_MONEY = re.compile(r"(-?(?:0|[1-9][0-9]{0,13}))(?:\.([0-9]{1,4})0*)?", re.ASCII)
_ZERO = re.compile(r"-?[0.]+(?:[eE]|\Z)", re.ASCII)
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
CLOCK = re.compile(
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?", re.ASCII
)
YEARS = range(1970, 2101)  # a time outside them stands for none
# What services send for no time, in whatever form: MySQL's zero date, PHP's reading of it, the least and the greatest
# times of .NET, Python, Java and JavaScript.
_NEVER = re.compile(
    r"(?:(?:0000|-0001|[+-]?[0-9]{5,9})-[0-9]{2}-[0-9]{2}|0001-01-01|9999-12-31)"
    r"(?:[ T][0-9:.]{1,18}(?:Z|[+-][0-9]{2}(?::?[0-9]{2}){0,2})?)?",
    re.ASCII,
)
MONEY_LIMIT = Decimal(10) ** 14
_LONG = 40  # characters of a money text: beyond, it is shortened
_MOST_DIGITS = 400
_CENT_OF_A_CENT = Decimal("0.0001")
_NEAR = Decimal("1e-9")
# Sums are exact: whatever would have to be rounded raises instead.
EXACT = decimal.Context(prec=60, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])
_WIDE = decimal.Context(
    prec=decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[decimal.InvalidOperation]
)


def integer(value: Any, pointer: str) -> int:
    """Return a 64-bit integer that is written as one; raise InvalidDocumentError otherwise."""
    if type(value) is not IntegerText:
        raise InvalidDocumentError("wrong_type", pointer)
    if len(value) > _INT64_DIGITS or (number := int(value)) not in INT64:
        raise InvalidDocumentError("integer_out_of_range", pointer)
    return number


def text(value: Any, pointer: str) -> str:
    """Return a string; raise InvalidDocumentError for anything else."""
    if type(value) is not str:
        raise InvalidDocumentError("wrong_type", pointer)
    return value


def number(value: Any, pointer: str) -> Any:
    """Return a number's own text as it came; raise InvalidDocumentError for anything else."""
    if type(value) is not IntegerText and type(value) is not Fraction:
        raise InvalidDocumentError("wrong_type", pointer)
    return value


def instant(value: Any, pointer: str) -> str:
    """Return the text of a timestamp that names an instant (no offset: UTC) or none; else InvalidDocumentError."""
    own = text(value, pointer)
    if _NEVER.fullmatch(own):
        return own
    if not (DATE.match(own) and CLOCK.fullmatch(own, 10)):
        raise InvalidDocumentError("bad_timestamp", pointer)
    try:
        dt.datetime.fromisoformat(own)
    except ValueError:
        raise InvalidDocumentError("bad_timestamp", pointer) from None
    return own


def money(value: Any, pointer: str, *, rounds: bool = False) -> tuple[str, Decimal, bool]:
    """Return an amount's text, its exact value, and whether it had to be rounded.

    The text is the number's own; only one with an exponent is written out, since DuckDB 1.5.6 reads some of
    those wrongly (0.00…01e41 as 0). Validated by value: 1.50000 is fine, 1.00005 is not.
    """
    own = number(value, pointer)
    if (plain := _PLAIN_MONEY.fullmatch(own)) is not None:
        whole, decimals = plain.groups()
        if len(own) > _LONG:  # zeros without end
            own = f"{whole}.{decimals}" if decimals else whole
        short = "0" if own == "-0" else str(own)
        return short, Decimal(short), False
    exact = _exact(own, pointer)
    if exact.copy_abs() >= MONEY_LIMIT:
        raise InvalidDocumentError("too_many_digits", pointer)
    scale = exact.as_tuple().exponent
    if isinstance(scale, int) and -4 <= scale <= 0:
        return str(exact), exact, False
    if exact.is_zero():
        return "0", Decimal(0), False
    if (nearest := exact.quantize(_CENT_OF_A_CENT, context=_WIDE)) == exact:
        return _trimmed(nearest), nearest, False
    if not rounds or _WIDE.abs(_WIDE.subtract(exact, nearest)) > _NEAR:
        raise InvalidDocumentError("too_many_decimals", pointer)
    if nearest.copy_abs() >= MONEY_LIMIT:
        raise InvalidDocumentError("too_many_digits", pointer)
    return _trimmed(nearest), nearest, True


def _trimmed(amount: Decimal) -> str:
    return f"{amount.normalize(_WIDE):f}" if amount else "0"


def _exact(own: str, pointer: str) -> Decimal:
    if _ZERO.match(own):
        try:
            return Decimal(own) if len(own) < _LONG else Decimal(0)
        except decimal.InvalidOperation:
            return Decimal(0)
    digits = own.lstrip("-").partition("e" if "e" in own else "E")[0]
    if len(digits) > _MOST_DIGITS:
        # Zeros at the end are no decimals; the rest of a value that fits is short.
        whole, _, decimals = digits.partition(".")
        decimals = decimals.rstrip("0")
        if len(whole) + len(decimals) > _MOST_DIGITS:
            raise InvalidDocumentError("too_many_digits" if len(whole) > _MOST_DIGITS else "too_many_decimals", pointer)
        own = own.replace(digits, f"{whole}.{decimals}" if decimals else whole)
    try:
        exact = Decimal(own)
    except decimal.InvalidOperation:
        raise InvalidDocumentError("too_many_digits", pointer) from None
    if exact.adjusted() > _MOST_DIGITS:
        raise InvalidDocumentError("too_many_digits", pointer)
    if exact.adjusted() < -_MOST_DIGITS:
        raise InvalidDocumentError("too_many_decimals", pointer)
    return exact


LEAVES = {"integer": integer, "text": text, "time": instant, "number": number}
