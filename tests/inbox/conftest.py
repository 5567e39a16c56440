"""Fixtures of the inbox: a clock that is moved by hand and a work list on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from pipelines.inbox.worklist import WorkList

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 21, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now

    def forward(self, **by: float) -> datetime:
        """Move the clock and return the new time."""
        self.now += timedelta(**by)
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Give a clock that only the test moves."""
    return Clock()


@pytest.fixture
def inbox_path(tmp_path: Path) -> Path:
    """Name the file of an inbox that is not there yet."""
    return tmp_path / "inbox" / "worklist.sqlite"


@pytest.fixture
def work(inbox_path: Path, clock: Clock) -> Iterator[WorkList]:
    """Give an empty work list on the test's clock."""
    with WorkList(inbox_path, clock=clock) as work:
        yield work
