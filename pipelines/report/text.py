"""Format text for an 80-column terminal: exact amounts, times, and names without control characters.

Knows nothing of tables. Uses no colours.
"""

from __future__ import annotations

import datetime as dt
import textwrap
import unicodedata
from typing import TYPE_CHECKING

from pipelines.finance.currencies import NOT_STATED, money, money_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "COLUMNS",
    "MISMATCH",
    "NOT_STATED",
    "counted",
    "fitted",
    "moment",
    "money",
    "money_of",
    "plain",
    "width",
    "wrapped",
]
COLUMNS = 80
MISMATCH = "mismatch, please report it"
# Control, format (such as right-to-left override), lone surrogate, line and paragraph separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def moment(at: dt.datetime | None) -> str:
    """Return an instant in UTC, to the second; null is the unknown time of an archive."""
    return "at an unknown time" if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}Z"


def plain(text: object) -> str:
    """Return untrusted text on one line, without control characters."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in _UNSAFE else sign for sign in str(text))


def width(text: str) -> int:
    """Return how many columns a text takes: wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def fitted(text: str, columns: int) -> str:
    """Return a text of exactly this many columns: padded, or cut and marked."""
    if width(text) > columns:
        while text and width(text) > columns - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (columns - width(text))


def wrapped(text: str, indent: int = 2, hanging: int = 2) -> Iterator[str]:
    """Yield the lines of a paragraph, with a hanging indent; words too long for a line are broken."""
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
