"""The exit codes of commands: decided here and nowhere else."""

from __future__ import annotations

import enum
import signal
from typing import TYPE_CHECKING

from pipelines.ingest.lock import RunLockedError
from pipelines.ingest.stop import SHELL
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pipelines.record import Run


class Exit(enum.IntEnum):
    """The exit codes of a command."""

    PUBLISHED = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    LOCKED = 4


def exit_code(run: Run, *, is_strict: bool = False) -> int:
    """Return the exit code of `ordermart run`; if strict, also for what was refused before."""
    if run.error:
        return run.error_code
    if run.stopped_by:
        return SHELL + getattr(signal, run.stopped_by, signal.SIGINT)
    if not run.is_published:
        return Exit.FAILED
    is_refused = bool(run.refused if is_strict else run.newly_refused)
    return Exit.REFUSED if is_refused or run.verdict == "incomplete" else Exit.PUBLISHED


def code_of_error(error: Exception) -> Exit:
    """Return the exit code of an error that ends a command."""
    if isinstance(error, SettingsError):
        return Exit.USAGE
    return Exit.LOCKED if isinstance(error, RunLockedError) else Exit.FAILED
