"""The exit codes of commands: decided here and nowhere else."""

from __future__ import annotations

import enum
import signal
from typing import TYPE_CHECKING

from pipelines.ingest.lock import RunLockedError
from pipelines.ingest.session import SHELL
from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from pipelines.record import Run


class Exit(enum.IntEnum):
    """The exit codes of a command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    OPEN = 3  # done, and something is left for a person
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
    return code_of(is_open=is_refused or run.verdict == "incomplete")


def code_of(*, is_open: object, has_failed: object = False) -> Exit:
    """Return the exit code of a command that did its work, by what it found."""
    return Exit.FAILED if has_failed else Exit.OPEN if is_open else Exit.DONE


def code_of_error(error: Exception) -> Exit:
    """Return the exit code of an error that ends a command."""
    if isinstance(error, SettingsError):
        return Exit.USAGE
    return Exit.LOCKED if isinstance(error, RunLockedError) else Exit.FAILED
