"""Patterns of residuals: an unknown base, a share that is at most or at least an amount, and where it reaches that."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest

from pipelines.warehouse.evidence.residuals import BASES, Residual, _reached_at, find_pattern


def sample_of(subtotals: list[int], residuals: list[int]) -> dict[str, Any]:
    """Return orders of subtotals and residuals in cents; nothing else is charged."""
    cents = {"subtotal": np.array(subtotals) * 100, "residual": np.array(residuals) * 100}
    others = {base: np.zeros(len(subtotals), dtype=np.int64) for base in BASES if base != "subtotal"}
    return cents | others | {"stated": cents["subtotal"] + cents["residual"], "unit": np.full(len(subtotals), 100)}


def test_an_unknown_base_has_no_share() -> None:
    """A base may be null for some orders or for all: their constant is found all the same."""
    orders = 40
    known = {base: np.ma.masked_all(orders, dtype=np.int64) for base in BASES}
    known[BASES[0]] = np.ma.masked_array(np.full(orders, 1000), mask=[number % 2 == 0 for number in range(orders)])
    sample = known | {"residual": np.full(orders, 730), "stated": np.full(orders, 1731), "unit": np.full(orders, 100)}
    found = find_pattern(sample)
    assert found is not None
    assert (found.kind, found.value) == ("constant", 730)


SUBTOTALS = [800 + 37 * number for number in range(100)]  # 8.00 to 44.63, in cents


@pytest.mark.parametrize(
    ("kind", "value", "bound", "residuals"),
    [
        ("at_most", 100_000, 30_000, [min(each // 10, 300) for each in SUBTOTALS]),
        ("at_least", 100_000, 20_000, [max(each // 10, 200) for each in SUBTOTALS]),
        ("at_most", -100_000, -30_000, [-min(each // 10, 300) for each in SUBTOTALS]),
        ("at_most", 100_000, 41_000, [min(each // 10, 410) for each in SUBTOTALS]),  # of ten orders
        ("share", 100_000, 0, [min(each // 10, 420) for each in SUBTOTALS]),  # of seven: too few
        ("share", 100_000, 0, [each // 10 for each in SUBTOTALS]),
    ],
)
def test_a_share_is_bounded_where_enough_orders_show_it(
    kind: str, value: int, bound: int, residuals: list[int]
) -> None:
    """Some orders of either side show the bound; a share that few orders do not follow is one without a bound."""
    found = find_pattern(sample_of(SUBTOTALS, residuals))
    assert found == Residual(kind, value, "subtotal", bound)


@pytest.mark.parametrize(
    ("share", "bound", "unit", "reached_at"),
    [
        (100_000, 30_000, 100, 300_000),  # 10%, 3.00: 30.00
        (70_000, 15_000, 100, 214_300),  # 7%, 1.50: 21.43
        (-70_000, -15_000, 100, 214_300),
        (80_000, 2_500_000, 10_000, 31_250_000),  # 8%, 250 yen: 3125
        (33_000, 2_500_000, 10_000, 75_760_000),  # 3.3%, 250 yen: 7576
        (55_000, 1_250, 10, 22_730),  # 5.5%, 0.125 dinars: 2.273
    ],
)
def test_two_components_make_what_a_bound_does(share: int, bound: int, unit: int, reached_at: int) -> None:
    """To the unit, however the share is rounded: a share below the base at which it reaches its bound, then that."""
    found = Residual("at_most", share, "subtotal", bound)
    assert _reached_at({"subtotal": np.array([7 * unit, 9 * unit]), "unit": np.array([unit])}, found) == reached_at
    for base in range(reached_at - 50 * unit, reached_at + 50 * unit, unit):
        exact = abs(Decimal(share)) * base / 1_000_000 / unit
        for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            rounded, most = exact.quantize(Decimal(1), mode), Decimal(abs(bound)) / unit
            assert (rounded if base < reached_at else most) == min(rounded, most)
            assert (rounded if base >= reached_at else most) == max(rounded, most)
    assert abs(share) * (reached_at - unit) < abs(bound) * 1_000_000


def test_a_finer_base_has_a_finer_bound() -> None:
    """Subtotals of four decimals reach 1.50, by 7%, at 21.4286."""
    sample = {"subtotal": np.array([214_257, 214_300]), "unit": np.array([100, 100])}
    assert _reached_at(sample, Residual("at_most", 70_000, "subtotal", 15_000)) == 214_286
