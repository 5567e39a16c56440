"""Let Dagster show an expected error as the terminal does: by its sentence, without a stack of calls."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import dagster as dg

from pipelines.report.text import sentence_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class NotStarted(dg.DagsterError):
    """A run that could not start; Dagster shows its own kind of error as it is, and wraps any other."""


@contextmanager
def failing_by_sentence(*, in_step: bool = True) -> Iterator[None]:
    """Raise an expected error of the block as a failure that has its sentence; any other error as it is.

    A step is not tried again: it would end the same way, or is what the next run does. With `in_step` false the block
    opens a resource, before any step.
    """
    try:
        yield
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        if not in_step:
            raise NotStarted(sentence) from None
        raise dg.Failure(description=sentence, allow_retries=False) from error
