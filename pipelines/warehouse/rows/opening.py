"""Tell a database file that cannot be opened here and now, such as one that is in use, from a damaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

# What DuckDB says of a file that it did not get to read, and what helps.
_ADVICE = {
    "could not set lock": "Close it in that program and run again; a release can be read at any time",
    "permission denied": "Let the user of the runs read and write it, and run again",
    "too many open files": "Raise the limit of open files (`ulimit -n`), and run again",
}


class NotOpenedError(Exception):
    """A database file could not be opened, and is not damaged; the message says why and what to do."""


def why_not_opened(error: duckdb.Error) -> str:
    """Return what to do about an error that says nothing about a file's content; "" for any other."""
    said = str(error).lower()
    return next((advice for sign, advice in _ADVICE.items() if sign in said), "")


def not_opened(error: duckdb.Error, file: Path) -> NotOpenedError | None:
    """Return the error of this project for such an error of DuckDB, which names who holds the file."""
    if not (advice := why_not_opened(error)):
        return None
    said = str(error).partition("\n")[0].partition(". ")[0]
    return NotOpenedError(f"{file} cannot be opened, and was left as it is: {said}. {advice}")
