"""The answer to a question on which people rely, such as whether a night was good: one type for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Verdict(NamedTuple):
    """The counts of all that was checked; each fault, and each part that could not be checked, as a sentence.

    `later` counts parts that are left for another time on purpose: they are said, and not held against the rest.
    """

    checked: Mapping[str, int]
    wrong: Sequence[str] = ()
    unchecked: Sequence[str] = ()
    later: int = 0

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
