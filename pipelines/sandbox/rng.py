"""Draw the same on every machine and Python: by `seed` and `random` alone, whose results Python guarantees."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Rng:
    """A random number generator whose draws depend on its seed text alone."""

    __slots__ = ("random",)

    def __init__(self, *seed: object) -> None:
        # One generator per drawn object: it stays the same when others are added, and can be drawn again alone.
        self.random = random.Random("/".join(map(str, seed))).random

    def below(self, limit: int) -> int:
        """Return an integer from 0 up to, not including, `limit`."""
        return int(self.random() * limit)

    def between(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return low + int(self.random() * (high - low + 1))

    def often(self, share: float) -> bool:
        """Return true in this share of draws."""
        return self.random() < share

    def pick(self, things: Sequence[T]) -> T:
        """Return one of the things, uniformly."""
        return things[int(self.random() * len(things))]

    def weighted(self, things: Sequence[tuple[int, T]]) -> T:
        """Return one of (weight, thing) by its integer weight: sums of floats differ between Python versions."""
        left = self.random() * sum(weight for weight, _ in things)
        for weight, thing in things:
            left -= weight
            if left < 0:
                return thing
        return things[-1][1]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Return the things in another order."""
        mixed = list(things)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed
