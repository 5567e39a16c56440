"""How long to wait, and how often: the small rules."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pipelines.partner.pacing import LONGEST_SECONDS, RetryBudget, full_jitter, seconds_to_wait

NOW = datetime(2026, 11, 20, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("Fri, 20 Nov 2026 03:15:30 GMT", 30.0),
        ("Friday, 20-Nov-26 03:15:30 GMT", 30.0),
        ("Fri Nov 20 03:15:30 2026", 30.0),
        ("Fri, 20 Nov 2026 03:10:00 GMT", 0.0),
        ("Fri, 99 Nov 2026 03:10:00 GMT", None),
    ],
)
def test_retry_after(text: str | None, seconds: float | None) -> None:
    """Seconds and the three forms of an HTTP date are read; any other says nothing."""
    assert seconds_to_wait(text, NOW) == seconds


def test_full_jitter() -> None:
    """A wait is anywhere between nothing and a ceiling that doubles up to the longest."""
    assert full_jitter(1, 0.0) == 0.0
    ceilings = [full_jitter(attempts, 0.999999) for attempts in range(1, 12)]
    assert ceilings[:6] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2], rel=1e-4)
    assert ceilings[6:] == pytest.approx([LONGEST_SECONDS] * 5, rel=1e-4)
    assert full_jitter(100_000, 0.5) == LONGEST_SECONDS / 2


def test_the_budget_grows_with_first_tries() -> None:
    """Beyond what it starts with, a run may retry as often as half its first tries."""
    budget = RetryBudget(share=0.5, start=3)
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
    for _ in range(10):
        budget.first_attempt()
    assert sum(budget.take() for _ in range(100)) == 5
