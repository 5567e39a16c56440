"""How few fits are too few: exact binomial counts and the lower bound of a share."""

from __future__ import annotations

import functools
import math

REFUTES = 1 / 500  # a rule that holds shows so few fits less often than this
_EXACT_TO = 1_000  # beyond, the normal approximation, corrected for skew, is off by one order at most
_Z_REFUTES = 2.8782  # the normal quantile of REFUTES
_Z_LOWER = 1.96  # of a two-sided 95% interval


@functools.cache
def fewest_fits(orders: int, noise: float) -> int:
    """Return the fewest fits among so many orders that do not refute a rule which a share `noise` may break.

    At least half: of few orders chance alone would let a rule stand that most of them break.
    """
    return max(_fewest_by_chance(orders, noise), -(-orders // 2))


def _fewest_by_chance(orders: int, noise: float) -> int:
    if orders == 0 or noise <= 0:
        return orders
    if orders > _EXACT_TO:
        mean, deviation = orders * (1 - noise), math.sqrt(orders * noise * (1 - noise))
        skew = (_Z_REFUTES**2 - 1) / 6 * (1 - 2 * noise)
        return math.ceil(mean - _Z_REFUTES * deviation - skew - 0.5)
    below, fits = 0.0, -1
    while below < REFUTES:
        fits += 1
        below += math.exp(
            math.lgamma(orders + 1)
            - math.lgamma(fits + 1)
            - math.lgamma(orders - fits + 1)
            + fits * math.log(1 - noise)
            + (orders - fits) * math.log(noise)
        )
    return fits


def lower_bound(fits: int, orders: int) -> float:
    """Return Wilson's lower bound, at 95%, of the share of which `fits` of `orders` are a sample."""
    if orders == 0:
        return 0.0
    share, square = fits / orders, _Z_LOWER**2
    middle = share + square / (2 * orders)
    spread = _Z_LOWER * math.sqrt(share * (1 - share) / orders + square / (4 * orders**2))
    return max((middle - spread) / (1 + square / orders), 0.0)


def orders_needed(fits: int, orders: int, floor: float) -> int | None:
    """Return how many more orders, fitting in the same share, would lift the lower bound to `floor`; None: none do."""
    if orders == 0 or fits / orders <= floor:
        return None
    low, high = orders, 2 * orders
    while lower_bound(round(high * fits / orders), high) < floor:
        low, high = high, 2 * high
        if high > 10**9:
            return None
    while low < high:
        middle = (low + high) // 2
        if lower_bound(round(middle * fits / orders), middle) < floor:
            low = middle + 1
        else:
            high = middle
    return low - orders
