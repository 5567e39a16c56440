"""The answer to a question on which people rely, such as whether a night was good: one type for all of them.

The exit code of a command, which follows from an answer, a run or an error, is decided here and in `Run.exit_code`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SHELL = 128  # a shell's exit code for a process ended by a signal is this and its number


class Exit(enum.IntEnum):
    """The exit codes of a command; an error that ends one may have another than FAILED as its `exit_code`."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    OPEN = 3  # done, and something is left for a person
    LOCKED = 4


def code_of(*, is_open: object, has_failed: object = False) -> Exit:
    """Return the exit code of a command that did its work, by what it found."""
    return Exit.FAILED if has_failed else Exit.OPEN if is_open else Exit.DONE


def code_of_error(error: Exception) -> int:
    """Return the exit code of an error that ends a command."""
    return int(getattr(error, "exit_code", Exit.FAILED))


class Verdict(NamedTuple):
    """The counts of all that was checked; each fault, and each part that could not be checked, as a sentence."""

    checked: Mapping[str, int]
    wrong: Sequence[str] = ()
    unchecked: Sequence[str] = ()

    @property
    def is_good(self) -> bool:
        """Whether something was checked, and nothing is wrong or could not be checked."""
        return bool(self.checked) and not self.against

    @property
    def against(self) -> list[str]:
        """All that stands against it."""
        return [*self.wrong, *self.unchecked]

    def counts(self) -> str:
        """Return the counts, for a sentence."""
        return ", ".join(f"{count:,} {what}" for what, count in self.checked.items())
