"""Format text for an 80-column terminal: exact amounts, times, and names without control characters.

Uses no colours.
"""

from __future__ import annotations

import datetime as dt
import errno
import sqlite3
import textwrap
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = 80
_SIGNS_A_COLUMN = 8
_LONGEST = 10_000  # signs of a paragraph
_NO_SUCH_PLACE = {errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOSPC, errno.ENAMETOOLONG}
_ONE_USER = "The data folder belongs to one user: `ordermart doctor` names files of others"
MISMATCH = "mismatch, please report it"


def moment(at: dt.datetime | None) -> str:
    """Return an instant in UTC, to the second; null is the unknown time of an archive."""
    return "at an unknown time" if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}Z"


def width(text: str) -> int:
    """Return how many columns a text takes: wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def fitted(text: str, columns: int) -> str:
    """Return a text of exactly this many columns: padded, or cut and marked."""
    if len(text) > columns * _SIGNS_A_COLUMN:  # accents upon accents take no column
        text = text[: columns * _SIGNS_A_COLUMN] + "…"
    taken = 0
    for at, sign in enumerate(text):
        taken += width(sign)
        if taken > columns:
            return fitted(_cut(text[:at], columns - 1) + "…", columns)
    return text + " " * (columns - taken)


def _cut(text: str, columns: int) -> str:
    """Return as much of the beginning of a text of a few columns as fits into less."""
    while width(text) > columns:
        text = text[:-1]
    return text


def wrapped(text: str, indent: int = 2, hanging: int = 2) -> Iterator[str]:
    """Yield the lines of a paragraph, with a hanging indent; words too long for a line are broken.

    A paragraph of many pages is cut: breaking a word of a million signs would take minutes.
    """
    yield from textwrap.wrap(
        text if len(text) <= _LONGEST else text[:_LONGEST] + "… (cut)",
        COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_on_hyphens=False,
    )


def counted(number: int, one: str, many: str) -> str:
    """Return a number and its noun."""
    return f"{number:,} {one if number == 1 else many}"


def sentence_of(error: BaseException) -> str | None:
    """Return what terminal and Dagster show of an error: the sentence of one of this project, None of any other.

    A file that cannot be read or written has one, too.
    """
    if type(error).__module__.startswith("pipelines."):
        return str(error)
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM, errno.EROFS} and error.filename:
        return f"{error.filename}: {error.strerror}. {_ONE_USER}"
    if isinstance(error, OSError) and error.errno in _NO_SUCH_PLACE and error.filename:
        return f"{error.filename}: {error.strerror}. Correct the path, or free some disk"
    if isinstance(error, sqlite3.OperationalError) and "readonly database" in str(error):
        return f"the work list or the vault cannot be written. {_ONE_USER}"
    return None
