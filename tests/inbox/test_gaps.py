"""The gap probe and the doubt about the address."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.inbox.planner import gap_ids
from pipelines.ingest.outcome import NotFoundGuard


def test_short_gaps_first_newest_first() -> None:
    """One missing neighbour is likelier an order than a thousand; of equal gaps the newer comes first."""
    assert gap_ids([1, 3, 10, 12, 15], set(), 100) == [11, 2, 13, 14, 4, 5, 6, 7, 8, 9]


def test_what_was_not_found_is_not_asked_again() -> None:
    """Ids that answered 404 before cost no budget."""
    assert gap_ids([1, 4, 6], {5, 2}, 1) == [3]


@settings(deadline=None)
@given(
    known=st.sets(st.integers(-(2**63), 2**63 - 1), max_size=30),
    not_found=st.sets(st.integers(-(2**63), 2**63 - 1), max_size=10),
    budget=st.integers(0, 50),
)
def test_probes_are_new_and_in_between(known: set[int], not_found: set[int], budget: int) -> None:
    """Never over the budget, never a known id or an earlier 404, never outside the known range."""
    found = gap_ids(known, not_found, budget)
    assert len(found) == len(set(found)) <= budget
    assert not set(found) & (known | not_found)
    assert all(min(known) < id_ < max(known) for id_ in found)


@pytest.mark.parametrize(
    ("known", "missing", "stops_after"), [(10_000, 1.0, 11), (100, 1.0, 6), (10, 1.0, 5), (4, 1.0, None)]
)
def test_an_address_that_knows_nothing_stops_the_run(known: int, missing: float, stops_after: int | None) -> None:
    """When every known id is a 404 the run stops after a few, and says why."""
    guard = NotFoundGuard(0.05, known)
    stopped = next((n for n in range(1, known + 1) if guard.trips(not_found=True)), None)
    assert stopped == stops_after
    assert guard.sentence("known orders", "[partner] base_url").endswith("check [partner] base_url")


def test_a_few_lost_orders_stop_nothing() -> None:
    """Up to 5% of a long run may be missing, wherever they come."""
    guard = NotFoundGuard(0.05, 1_000)
    assert not any(guard.trips(not_found=n < 10) for n in range(1_000))
    guard = NotFoundGuard(0.05, 1_000)
    assert not any(guard.trips(not_found=n % 20 == 19) for n in range(1_000))
    assert guard.not_found == 50
    guard = NotFoundGuard(0.05, 1_000)
    assert any(guard.trips(not_found=n % 15 == 14) for n in range(1_000))
