"""What happens to an order after it was placed: statuses, deliveries, later changes, each at its moment.

The interface shows one status of orders and one of deliveries; the others are the stand-in's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from pipelines.sandbox.rng import Rng

MINUTE = 60
HOUR = 3600
# Every status of an unfaulted order; the last four are final.
STATUSES = (
    "pending",
    "accepted",
    "preparing",
    "ready",
    "on_the_way",
    "delivered",
    "picked_up",
    "cancelled",
    "rejected",
)
# The longest time from an order's creation to its last change.
LONGEST = 60 * HOUR

Steps = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery; it is shown from its first step on."""

    type: str
    confirmation_code: str
    tracking_url: str
    steps: Steps


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change of the money after the order ended: another tip, or a line taken off."""

    moment: int
    tip: Decimal | None = None
    removed_line: int | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """The whole course of an order."""

    requested: int
    promised: int
    steps: Steps
    deliveries: tuple[Delivery, ...]

    @property
    def ended(self) -> int:
        """The moment of the last step."""
        return max(self.steps[-1][0], *(delivery.steps[-1][0] for delivery in self.deliveries), 0)


def current(steps: Steps, moment: int) -> str | None:
    """Return the status at the moment; None before the first."""
    status = None
    for since, name in steps:
        if since > moment:
            break
        status = name
    return status


def course(rng: Rng, created: int, method: str) -> Course:
    """Draw the course of an order placed at `created`."""
    # One in ten is placed hours ahead.
    ahead = rng.between(2 * HOUR, 8 * HOUR) // 300 * 300 if rng.often(0.1) else 0
    kitchen = created + max(0, ahead - 40 * MINUTE)
    accepted = created + rng.between(15, 240)
    preparing = max(accepted, kitchen) + rng.between(20, 5 * MINUTE)
    ready = preparing + rng.between(8 * MINUTE, 28 * MINUTE)
    last = ready + rng.between(4 * MINUTE, 35 * MINUTE)
    promised = kitchen + rng.pick((30, 35, 40, 45, 60)) * MINUTE
    requested = created + ahead if ahead else created
    end = rng.random()
    steps: Steps
    if end < 0.01:
        steps = ((created, "pending"), (accepted, "rejected"))
        return Course(requested, promised, steps, ())
    if end < 0.045:
        steps = ((created, "pending"), (accepted, "accepted"), (accepted + rng.between(10, 9 * MINUTE), "cancelled"))
        return Course(requested, promised, steps, ())
    steps = ((created, "pending"), (accepted, "accepted"), (preparing, "preparing"), (ready, "ready"))
    if method == "pick_up":
        return Course(requested, promised, (*steps, (last, "picked_up")), ())
    away = ready + MINUTE
    deliveries = []
    kind = "own_delivery" if method == "store_delivery" else "courier"
    if rng.often(0.04):
        # The first rider does not make it: a second delivery takes over.
        deliveries.append(_delivery(rng, kind, ((preparing, "confirmed"), (ready + 30, "failed"))))
        kind = "courier"
        preparing = ready + 40
    if rng.often(0.97):
        deliveries.append(
            _delivery(rng, kind, ((preparing, "confirmed"), (away, "picked_up"), (last + 5, "delivered")))
        )
    return Course(requested, promised, (*steps, (away, "on_the_way"), (last + 10, "delivered")), tuple(deliveries))


def _delivery(rng: Rng, kind: str, steps: Steps) -> Delivery:
    code = f"{rng.below(10_000):04d}"
    token = f"{rng.below(1 << 40):010x}"
    return Delivery(kind, code, f"https://track.example/{token}", steps)
