"""What an engine does, whichever it is.

Knows none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

T = TypeVar("T")
R = TypeVar("R")


class EngineError(Exception):
    """An engine cannot be used, or lost a part for good; the message says what to do."""


class Engine(Protocol):
    """Runs a function for each of some values, somewhere; connected while it is a context."""

    memory_bytes: int  # DuckDB's limit in each task

    def __enter__(self) -> Self:
        """Connect."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect; what still runs ends."""
        ...

    def width(self) -> int:
        """Return how many tasks run at once."""
        ...

    def map(self, function: Callable[[T], R], values: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the place of each value and the function's result, in the order in which they end.

        The function may run twice for a value, also at the same time. Raise what it raises, EngineError where it could
        not be run.
        """
        ...
