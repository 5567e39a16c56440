"""Read the content of a stored row: a JSON object, pointer → value."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any


def values(content: bytes) -> dict[str, Any]:
    """Return pointer → value, numbers as int or Decimal, else as text."""
    found: dict[str, Any] = json.loads(content, parse_int=_integer, parse_float=_fraction)
    return found


def pattern(pointer: str) -> str:
    """Return a pointer without the places of array elements, `items/*/name`."""
    return "/".join("*" if part.isdigit() else part for part in pointer.split("/")).removeprefix("/")


def contact(content: bytes) -> tuple[str, str]:
    """Return the phone number and the e-mail address of an order's content, "" for one that it lacks."""
    found = values(content)
    phone, email = (found.get(pointer) for pointer in ("/user_phone", "/user_email"))
    return phone if isinstance(phone, str) else "", email if isinstance(email, str) else ""


def _integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:  # thousands of digits
        return text


def _fraction(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent out of range
        return text
