"""Write texts and paths as literals of SQL, for statements that take no parameters: attach, copy, comment.

Knows nothing of what is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def literal(text: str | Path) -> str:
    """Return a text, or a path, in single quotes."""
    return "'" + str(text).replace("'", "''") + "'"


def literals(texts: Iterable[str | Path]) -> str:
    """Return them with commas between, as in a list."""
    return ", ".join(map(literal, texts))
