"""Text for a terminal of 80 columns: amounts and times as they stand, and names that cannot drive the terminal.

Knows nothing of tables. Uses no colours.
"""

from __future__ import annotations

import datetime as dt
import textwrap
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

COLUMNS = 80
NOT_STATED = "not stated"
# Control, format (such as turning the writing round), lone surrogate, line and paragraph ends.
_DRIVES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def money(amount: Decimal | None) -> str:
    """Return an amount exactly, with two to four decimals; a null says that it is not stated."""
    if amount is None:
        return NOT_STATED
    whole, _, decimals = f"{amount:,.4f}".partition(".")
    return f"{whole}.{decimals[:2]}{decimals[2:].rstrip('0')}"


def moment(at: dt.datetime | None) -> str:
    """Return an instant in UTC, to the second; a null is an archive's unknown time."""
    return "at an unknown time" if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}Z"


def plain(text: object) -> str:
    """Return a text from outside on one line, without signs that drive a terminal."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in _DRIVES else sign for sign in str(text))


def width(text: str) -> int:
    """Return how many columns a text takes: wide signs take two, those that are put onto others none."""
    return sum(0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def fitted(text: str, columns: int) -> str:
    """Return a text that takes exactly so many columns: filled up, or cut and marked."""
    taken, cut = 0, 0  # columns up to here, and the signs of which columns - 1 have room
    for at, sign in enumerate(text, 1):
        taken += width(sign)
        if taken < columns:
            cut = at
        if taken > columns:
            text = text[:cut] + "…"
            break
    return text + " " * (columns - width(text))


def wrapped(text: str, indent: int = 2, hanging: int = 2) -> Iterator[str]:
    """Give the lines of a paragraph, all but the first set in further; what has no blank is broken where it must."""
    yield from textwrap.wrap(
        text,
        COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_on_hyphens=False,
    )


def counted(number: int, one: str, many: str) -> str:
    """Return a number and its noun."""
    return f"{number:,} {one if number == 1 else many}"
