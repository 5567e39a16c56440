"""Patterns of residuals, where a base of shares is unknown for some orders."""

from __future__ import annotations

import numpy as np

from pipelines.warehouse.evidence.residuals import BASES, find_pattern


def test_an_unknown_base_has_no_share() -> None:
    """A base may be null for some orders or for all: their constant is found all the same."""
    orders = 40
    known = {base: np.ma.masked_all(orders, dtype=np.int64) for base in BASES}
    known[BASES[0]] = np.ma.masked_array(np.full(orders, 1000), mask=[number % 2 == 0 for number in range(orders)])
    sample = known | {"residual": np.full(orders, 730), "stated": np.full(orders, 1731), "unit": np.full(orders, 100)}
    found = find_pattern(sample)
    assert found is not None
    assert (found.kind, found.value) == ("constant", 730)
