"""Hash the columns of tables: alike for the same rows in any order, on any version of DuckDB and on any day."""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Hashes = dict[str, str]


# What differs from day to day or from machine to machine: when something was done, by whom, under which name.
LEFT_OUT = frozenset(
    {
        *("accepted_at", "closed_at", "detected_at", "imported_at", "written_at", "as_of"),
        *("accepted_by", "code_version", "release_id", "previous_release_id"),
    }
)


def hashes(columns: Iterable[str], rows: Iterable[Sequence[Any]], *, in_order: bool = False) -> Hashes:
    """Return column → hash of its values, and `rows` → how many there are; rows are put in the order of their text.

    `in_order`: `_order` → hash of the rows as they come.
    """
    compared = [(number, column) for number, column in enumerate(columns) if column not in LEFT_OUT]
    given = [[as_text(row[number]) for number, _ in compared] for row in rows]
    texts = sorted(given)
    found = {"rows": str(len(texts))} | ({"_order": hash_of(str(given))} if in_order else {})
    for number, (_, column) in enumerate(compared):
        found[column] = hash_of("\n".join(row[number] for row in texts))
    return found


def hash_of(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8]


def as_text(value: Any) -> str:
    """Write a value so that neither the last digits of a computed share nor the type of a container matter."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return str({key: as_text(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return str([as_text(each) for each in value])
    return str(value)
