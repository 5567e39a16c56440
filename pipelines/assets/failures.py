"""Let Dagster show an expected error as the terminal does: by its sentence, without a stack of calls."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import dagster as dg

from pipelines.report.text import sentence_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def failing_by_sentence() -> Iterator[None]:
    """Raise an expected error of the block as a failure that has its sentence; any other error as it is.

    A retry would end the same way, or is what the next run does.
    """
    try:
        yield
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        raise dg.Failure(description=sentence, allow_retries=False) from error


class NotStarted(dg.DagsterError):
    """A run that could not start; Dagster shows its own kind of error as it is, and wraps any other."""


@contextmanager
def opening_by_sentence() -> Iterator[None]:
    """Raise an expected error of opening a resource, before any step, with its sentence alone; any other as it is."""
    try:
        yield
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        raise NotStarted(sentence) from None
