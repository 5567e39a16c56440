"""Write values where they could be read as something else: in SQL as literals, in texts as one plain line."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


LONGEST = 2_000  # signs of a text of the service's
# Control, format (such as right-to-left override), lone surrogate, line and paragraph separators.
UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def literal(text: str | Path) -> str:
    """Return a text, or a path, in single quotes."""
    return "'" + str(text).replace("'", "''") + "'"


def literals(texts: Iterable[str | Path]) -> str:
    """Return them with commas between, as in a list."""
    return ", ".join(map(literal, texts))


def one_line(text: object, most: int = LONGEST) -> str:
    """Return untrusted text on one line, without control characters, cut if it is longer than any name.

    Whatever the service wrote passes it on its way to a terminal, page, message, answer or log.
    """
    own = str(text)
    own = own if len(own) <= most else own[:most] + "… (cut)"
    if own.isascii() and own.isprintable():
        return own
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in UNSAFE else sign for sign in own)
