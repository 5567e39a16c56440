"""Learned: which changes are missed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.inbox.planner import missed_changes


@pytest.mark.parametrize(
    ("checked", "changed", "low", "high"),
    [
        # n = 10: Table of exact 95% limits in Clopper and Pearson's form, as printed in many handbooks.
        (10, 0, 0.0, 0.3085),
        (10, 1, 0.0025, 0.4450),
        (10, 5, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (100, 1, 0.0003, 0.0545),
    ],
)
def test_exact_limits(checked: int, changed: int, low: float, high: float) -> None:
    """The limits are those of the published tables."""
    missed = missed_changes(checked, changed, 1000)
    assert (round(missed.low, 4), round(missed.high, 4)) == (low, high)


def test_nothing_changed_has_a_closed_form() -> None:
    """With no change in n the upper limit is 1 - (a/2)^(1/n)."""
    for n in (1, 200, 20_000):
        assert math.isclose(missed_changes(n, 0, n).high, 1 - 0.025 ** (1 / n), rel_tol=1e-6)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 30), st.floats(0.001, 0.999))
def test_the_interval_covers_as_often_as_it_says(n: int, p: float) -> None:
    """Whatever the true share, intervals that miss it have no more than 5% probability together."""
    inside = sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if (m := missed_changes(n, k, n)).low <= p <= m.high
    )
    assert inside >= 0.95 - 1e-9


def test_nothing_checked_is_not_known() -> None:
    """Without a sample there is no estimate, and every share is possible."""
    missed = missed_changes(0, 0, 5000)
    assert (missed.low, missed.high) == (0.0, 1.0)
    assert "unknown" in missed.sentence()


def test_the_sentence_of_an_estimate() -> None:
    """Rate, limits and their meaning in orders are stated."""
    assert missed_changes(200, 2, 50_000).sentence() == (
        "Sample: 2 of 200 old orders had changed without a notification: 1.00%, with 95% confidence between 0.12% and "
        "3.57%, which is 60 to 1783 of 50000 orders."
    )


@pytest.mark.parametrize("counts", [(1, 2, 10), (11, 1, 10), (1, -1, 10)])
def test_counts_that_cannot_be(counts: tuple[int, int, int]) -> None:
    """More changed than checked, or more checked than there are, is refused."""
    with pytest.raises(ValueError, match="must satisfy"):
        missed_changes(*counts)
