"""Conditions on the fields of an order, as settings write them: `subtotal_price < 10 and weekday >= 6`."""

from __future__ import annotations

import re

_AND = re.compile(r"\band\b(?=(?:[^']*'[^']*')*[^']*$)")  # outside of a text
_CONDITION = re.compile(r"\s*([a-z_]+)\s*(?:(<=|>=|!=|<|>|=)\s*(-?[0-9]{1,14}(?:\.[0-9]{1,4})?)|(!=|=)\s*('[^']*'))\s*")


def read_conditions(text: str) -> list[dict[str, str]]:
    """Return field, operator and value of each condition, all of which must be met; raise ValueError if it has none.

    A value is a number, or a text in single quotes, which it keeps.
    """
    return [_read(each) for each in _AND.split(text)] if text else []


def _read(text: str) -> dict[str, str]:
    found = _CONDITION.fullmatch(text)
    if not found:
        raise ValueError(f"{text.strip()!r} is not a condition such as subtotal_price < 10 or currency = 'EUR'")
    field, *compared = found.groups()
    operator, value = compared[:2] if compared[0] else compared[2:]
    return {"field": field, "operator": operator, "value": value}
