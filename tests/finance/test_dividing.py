"""Orders divided by their days, and by values that have no order."""

from __future__ import annotations

import numpy as np

from pipelines.warehouse.evidence.populations import divide_by_days, divide_by_values, shares_of

SHARES = shares_of(0.05, is_closed=False)


def cells(*forms: int) -> tuple[np.ndarray, np.ndarray]:
    """Return [cell, form] fits and [cell] orders: ten orders a cell, all of which fit one of three forms."""
    return np.eye(3)[list(forms)] * 10, np.full(len(forms), 10)


def test_spans_of_days_that_follow_one_form_are_one_group() -> None:
    """However often a rule comes back: the group of most days is the first."""
    days = [0] * 40 + [1] * 10 + [0] * 40 + [2] * 10 + [1] * 10
    division = divide_by_days(*cells(*days), SHARES)
    assert division is not None
    assert division.groups == [[place for place, form in enumerate(days) if form == wanted] for wanted in (0, 1, 2)]


def test_values_that_follow_one_form_are_one_group() -> None:
    """In whatever order."""
    division = divide_by_values(*cells(0, 1, 0, 2, 0, 1), SHARES)
    assert division is not None
    assert division.groups == [[0, 2, 4], [1, 5], [3]]


def test_what_follows_one_form_is_not_divided() -> None:
    """Nor is a single value."""
    for divide in (divide_by_days, divide_by_values):
        assert divide(*cells(0, 0, 0, 0), SHARES) is None
        assert divide(*cells(0), SHARES) is None
