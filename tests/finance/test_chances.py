"""How few fits are too few, beside the same counted in whole fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pipelines.warehouse.evidence.verdicts import fewest_fits, lower_bound, orders_needed


def counted(orders: int, noise: Fraction) -> int:
    """Return the fewest fits that are, with all fewer ones, not rarer than one in 500; at least half."""
    breaks, whole = noise.numerator, noise.denominator
    below, fits = 0, -1
    while below * 500 < whole**orders:
        fits += 1
        below += math.comb(orders, fits) * (whole - breaks) ** fits * breaks ** (orders - fits)
    return max(fits, math.ceil(Fraction(orders, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [Fraction(1, 100), Fraction(1, 20), Fraction(2, 5)])
def test_fewest_fits_are_those_of_the_binomial_distribution(noise: Fraction) -> None:
    """Exact up to a thousand orders, beyond within one."""
    for orders in (1, 2, 3, 7, 20, 21, 99, 1_000):
        assert fewest_fits(orders, float(noise)) == counted(orders, noise), orders
    for orders in (1_001, 1_500, 3_000):
        assert abs(fewest_fits(orders, float(noise)) - counted(orders, noise)) <= 1, orders


def test_without_noise_every_order_has_to_fit() -> None:
    """And of no orders none does."""
    assert [fewest_fits(orders, 0.0) for orders in (0, 1, 20, 5_000)] == [0, 1, 20, 5_000]
    assert fewest_fits(0, 0.05) == 0


@pytest.mark.parametrize(
    ("fits", "orders", "bound"),
    [(0, 0, 0), (0, 10, 0), (10, 10, 0.7225), (8, 10, 0.4902), (88, 100, 0.8019), (950, 1_000, 0.9347)],
)
def test_the_lower_bound_is_wilsons(fits: int, orders: int, bound: float) -> None:
    """As tables have it."""
    assert lower_bound(fits, orders) == pytest.approx(bound, abs=1e-4)


@pytest.mark.parametrize(("fits", "orders", "floor"), [(20, 20, 0.95), (97, 100, 0.95), (9, 10, 0.8), (1, 1, 0.95)])
def test_the_orders_needed_are_the_fewest(fits: int, orders: int, floor: float) -> None:
    """With them the bound clears the share, with one less it does not."""
    more = orders_needed(fits, orders, floor)
    assert more is not None
    for total, clears in ((orders + more, True), (orders + more - 1, False)):
        assert (lower_bound(round(total * fits / orders), total) >= floor) is clears


def test_no_number_of_orders_lifts_a_share_that_is_too_low() -> None:
    """Nor is there a share without orders."""
    assert orders_needed(94, 100, 0.95) is None
    assert orders_needed(95, 100, 0.95) is None
    assert orders_needed(0, 0, 0.95) is None
    assert orders_needed(95_000_001, 100_000_000, 0.95) is None
