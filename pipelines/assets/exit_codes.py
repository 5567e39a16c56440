"""The exit codes of `ordermart run`: decided here and nowhere else. Knows nothing of Dagster."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.report.summary import Night


class Exit(enum.IntEnum):
    """What the exit code of a run means."""

    PUBLISHED = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    LOCKED = 4


def exit_code(night: Night, *, new_refusals: bool) -> Exit:
    """Return the exit code of `ordermart run`."""
    if not night.published:
        return Exit.FAILED
    return Exit.REFUSED if new_refusals or night.incomplete else Exit.PUBLISHED
