"""Validate single values: integers, texts, money, times, each from its own text."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from decimal import Decimal
from typing import Any

from pipelines.landing.exact import Fraction, IntegerText, InvalidDocumentError

INT64 = range(-(2**63), 2**63)
_INT64_DIGITS = 20
_PLAIN_MONEY = re.compile(r"(-?(?:0|[1-9][0-9]{0,13}))(?:\.([0-9]{1,4})0*)?", re.ASCII)
_ZERO = re.compile(r"-?[0.]+(?:[eE]|\Z)", re.ASCII)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,9})?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))?",
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


def time(value: Any, pointer: str) -> str:
    """Return a timestamp's own text; raise InvalidDocumentError unless it names a real instant (no offset: UTC)."""
    found = _TIME.fullmatch(text(value, pointer))
    if found is None:
        raise InvalidDocumentError("bad_timestamp", pointer)
    year, month, day, hour, minute, second, sign, hours, minutes = found.groups()
    try:
        date = dt.date(int(year), int(month), int(day))
        clock = dt.time(int(hour), int(minute), int(second), tzinfo=dt.UTC)
        moment = dt.datetime.combine(date, clock)
        if sign:
            if int(hours) > 23 or int(minutes) > 59:
                raise InvalidDocumentError("bad_timestamp", pointer)
            offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
            moment = moment - offset if sign == "+" else moment + offset
    except (ValueError, OverflowError):
        raise InvalidDocumentError("bad_timestamp", pointer) from None
    return str(value)


def money(value: Any, pointer: str, *, rounds: bool = False) -> tuple[str, Decimal, bool]:
    """Return an amount's text, its exact value, and whether it had to be rounded.

    The text is the number's own; only one with an exponent is written out, since DuckDB 1.5.6 reads some of
    those wrongly (0.00…01e41 as 0). Validated by value: 1.50000 is fine, 1.00005 is not.
    """
    own = number(value, pointer)
    plain = _PLAIN_MONEY.fullmatch(own)
    if plain is not None:
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
    nearest = exact.quantize(_CENT_OF_A_CENT, context=_WIDE)
    if nearest == exact:
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
