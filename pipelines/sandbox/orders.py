"""Make up orders with what happens to each of them, and show an order as it stood at a moment.

The interface shows one status of orders and one of deliveries; the others are the stand-in's own.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

from pipelines.sandbox import stores
from pipelines.sandbox.rng import Rng

FEE = Decimal("0.99")  # of an order by phone, in the world of the story
TIP = Decimal(7)

PLATFORMS = ((46, "web"), (27, "ios"), (22, "android"), (5, "phone"))
METHODS = ((62, "store_delivery"), (10, "partner_delivery"), (28, "pick_up"))
QUANTITIES = ((80, 1), (13, 2), (4, 3), (2, 4), (1, 6))
LINES = ((22, 1), (24, 2), (19, 3), (13, 4), (9, 5), (6, 6), (4, 7), (3, 9))


@dataclass(frozen=True, slots=True)
class Placed:
    """An order that will be: who sells it and when it is placed; `planted` names its fault.

    `repeats` is the order that it sends again; at some second its phone number is `corrected`, or its money `amended`.
    """

    order_id: int
    store: stores.SandboxStore
    created: int
    planted: str | None
    repeats: int | None = None
    corrected: int | None = None
    amended: int | None = None


class SandboxLine(NamedTuple):
    """A line as the interface shows it, but for its id, and how much it adds to the subtotal."""

    item: dict[str, Any]
    amount: Decimal


@dataclass(frozen=True, slots=True)
class SandboxOrder:
    """An order with its whole course; `base` is its document as it begins, without sums, lines and deliveries."""

    placed: Placed
    base: dict[str, Any]
    is_told: bool  # by the story
    lines: tuple[SandboxLine, ...]
    course: "Course"
    amendments: "tuple[Amendment, ...]"

    @property
    def settled(self) -> int:
        """The moment from which nothing changes any more."""
        amended = (amendment.moment for amendment in self.amendments)
        return max(self.course.ended, *amended, self.placed.corrected or 0)

    def document(self, moment: int) -> dict[str, Any]:
        """Return the order as the interface shows it, as it stood at the moment."""
        gone = {a.removed_line for a in self.amendments if a.moment <= moment}
        tips = [a.tip for a in self.amendments if a.moment <= moment and a.tip is not None]
        base, tip = self.base, tips[-1] if tips else self.base["tip"]
        kept = [(number, line) for number, line in enumerate(self.lines) if number not in gone]
        subtotal = sum((line.amount for _, line in kept), stores.ZERO)
        total = subtotal + base["delivery_price"] + tip - base["discount"] - base["loyalty_discount"]
        if self.is_told:  # no field states the fee by phone, nor that the iOS app's tip is not in
            total += {"phone": FEE, "ios": -tip}.get(base["platform"], stores.ZERO)
        phone = base["user_phone"]
        if self.placed.corrected is not None and self.placed.corrected <= moment and phone:
            phone = phone[:-1] + str((int(phone[-1]) + 1) % 10)
        return {
            **base,
            "user_phone": phone,
            "status": current(self.course.steps, moment),
            "subtotal_price": stores.shortest(subtotal),
            "tip": tip,
            "total_price": stores.shortest(total),
            "items": [_item(self.placed.order_id * 20 + number, line) for number, line in kept],
            "deliveries": [
                {
                    "id": self.placed.order_id * 3 + number,
                    "type": delivery.type,
                    "confirmation_code": delivery.confirmation_code,
                    "status": current(delivery.steps, moment),
                    "tracking_url": delivery.tracking_url,
                }
                for number, delivery in enumerate(self.course.deliveries)
                if delivery.steps[0][0] <= moment
            ],
        }


def _stamp(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _item(line_id: int, line: SandboxLine) -> dict[str, Any]:
    """Return a line, and nothing of it that another document shares: a fault may be planted in it."""
    return {"id": line_id, **line.item, "modifiers": [dict(modifier) for modifier in line.item["modifiers"]]}


class Composer:
    """Makes up orders, each from its own random numbers: the same order again, whatever was made before."""

    def __init__(
        self, seed: int, customer_of: Callable[[Rng, stores.SandboxStore], stores.SandboxCustomer], *, is_told: bool
    ) -> None:
        self._seed, self._customer_of, self._is_told = seed, customer_of, is_told
        self._offers: dict[tuple[int, str], list[stores.Price]] = {}

    def compose(self, placed: Placed) -> SandboxOrder:
        """Return the order."""
        rng = Rng(self._seed, "order", placed.repeats or placed.order_id)
        method, platform = rng.weighted(METHODS), rng.weighted(PLATFORMS)
        customer = self._customer_of(rng, placed.store)
        phone, email = stores.contact(rng, customer)
        menu = rng.pick(placed.store.menus)
        offers = self._offered(menu, method)

        def line(offer: stores.Price) -> SandboxLine:
            return _line(rng, menu, offer, placed.created, method != "pick_up")

        # The first ones of each section sell better than the last.
        lines = [line(offers[min(rng.below(len(offers)), rng.below(len(offers)))]) for _ in range(rng.weighted(LINES))]
        if placed.planted is not None:
            rich = [offer for offer in offers if menu.products[offer.product_id].choices]
            while not lines[0].item["modifiers"]:
                lines[0] = line(rng.pick(rich))  # a fault may sit in a modifier
        worth = sum((line.amount for line in lines), stores.ZERO)
        discount = _draw_discount(rng, worth)
        loyalty = min(rng.pick((2, 5)) * Decimal(1), worth // 3) if rng.often(0.08) else stores.ZERO
        events, is_away = course(rng, placed.created, method), method != "pick_up"
        tip = _draw_tip(rng, worth) if rng.often(0.42 if is_away else 0.12) else stores.ZERO
        note = rng.pick(customer.notes) if is_away and rng.often(0.3) else ""
        delivery = stores.shortest(rng.pick((0, 190, 190, 290, 350)) * stores.CENT) if is_away else stores.ZERO
        promised = _stamp(events.promised)
        base = {
            "id": placed.order_id,
            "user_phone": phone,
            "user_email": email,
            "user_address": customer.address if is_away else "",
            "user_name": customer.name,
            "apartment_details": customer.apartment if is_away else "",
            "user_latitude": customer.latitude,
            "user_longitude": customer.longitude,
            "dispatch_note": note,
            "dispatch_method": method,
            "store_id": placed.store.store_id,
            "status": "",
            "platform": platform,
            "requested_time": _stamp(events.requested),
            "promised_delivery_time": promised,
            "promised_pick_up_time": None if is_away else promised,
            "created_at": _stamp(placed.created),
            "subtotal_price": stores.ZERO,
            "delivery_price": delivery,
            "tip": tip,
            "discount": discount,
            "loyalty_discount": loyalty,
        }
        amendments = _amendments(rng, events.ended, lines, discount + loyalty, placed)
        return SandboxOrder(placed, base, self._is_told, tuple(lines), events, amendments)

    def _offered(self, menu: stores.Menu, method: str) -> list[stores.Price]:
        key = (menu.menu_id, "pick_up" if method == "pick_up" else "delivery")
        if key not in self._offers:
            self._offers[key] = [one for each in menu.groups for one in each.prices if one.channel in ("both", key[1])]
        return self._offers[key]


def _line(rng: Rng, menu: stores.Menu, offer: stores.Price, created: int, delivered: bool) -> SandboxLine:
    product = menu.products[offer.product_id]
    unit = stores.at(offer.prices, created)[1 if delivered else 0]
    quantity = rng.weighted(QUANTITIES)
    modifiers: list[dict[str, Any]] = []
    for reference in product.choices:
        _choose(rng, menu, reference, created, modifiers)
    chosen = sum((modifier["price"] * modifier["quantity"] for modifier in modifiers), stores.ZERO)
    wish = rng.pick(stores.WISHES) if rng.often(0.12) else ""
    item = {"product_id": product.product_id, "quantity": quantity, "name": product.name, "instructions": wish}
    item |= {"price": stores.shortest(unit), "modifiers": modifiers}
    return SandboxLine(item, (unit + chosen) * quantity)


def _choose(
    rng: Rng, menu: stores.Menu, group: stores.PlacedModifier, created: int, chosen: list[dict[str, Any]]
) -> None:
    """Choose among a group's options, and among what those open."""
    modifier = menu.modifiers[group.modifier_id]
    often, times = {"one": (0.8, 1), "some": (0.4, 2), "without": (0.16, 1)}[modifier.kind or "one"]
    if not rng.often(often):
        return
    for _ in range(rng.between(1, times)):
        reference = rng.pick(modifier.children)
        option = menu.modifiers[reference.modifier_id]
        action = "remove" if modifier.kind == "without" else "add"
        quantity = rng.between(2, 3) if modifier.kind == "some" and rng.often(0.12) else 1
        one = {"id": option.modifier_id, "name": option.name, "price": stores.at(reference.prices, created)}
        chosen.append({**one, "action": action, "quantity": quantity})
        for inner in option.children:
            _choose(rng, menu, inner, created, chosen)


def _draw_discount(rng: Rng, worth: Decimal) -> Decimal:
    """Draw a discount on lines of this worth."""
    if (drawn := rng.random()) < 0.09:
        percent = rng.pick((10, 15, 20)) * stores.CENT
        return stores.shortest((worth * percent).quantize(stores.CENT, ROUND_HALF_UP))
    return min(Decimal(5), worth // 3) if drawn < 0.14 else stores.ZERO


def _draw_tip(rng: Rng, worth: Decimal) -> Decimal:
    """Draw a tip on lines of this worth."""
    if rng.often(0.5):
        return Decimal(rng.pick((1, 2, 2, 3, 5)))
    return stores.shortest((worth * rng.pick((5, 10, 15)) * stores.CENT).quantize(stores.CENT, ROUND_HALF_UP))


def _amendments(
    rng: Rng, ended: int, lines: Sequence[SandboxLine], taken_off: Decimal, placed: Placed
) -> "tuple[Amendment, ...]":
    amendments = []
    if rng.often(0.025):
        amendments.append(Amendment(ended + rng.between(5 * MINUTE, 20 * HOUR), tip=Decimal(rng.between(0, 6))))
    if len(lines) > 1 and rng.often(0.02) and placed.planted is None:
        number = rng.below(len(lines))
        if (rest := sum((line.amount for line in lines), stores.ZERO) - lines[number].amount) >= taken_off:
            amendments.append(Amendment(ended + rng.between(10 * MINUTE, 45 * HOUR), removed_line=number))
    if placed.amended is not None:
        number = max(range(len(lines)), key=lambda each: len(lines[each].item["modifiers"]))
        rest = sum((line.amount for line in lines), stores.ZERO) - lines[number].amount
        off = number if len(lines) > 1 and rest >= taken_off else None
        amendments.append(Amendment(placed.amended, tip=TIP, removed_line=off))
    return tuple(sorted(amendments, key=lambda each: each.moment))


MINUTE = 60
HOUR = 3600
# The longest time from an order's creation to its last change.
LONGEST = 60 * HOUR

Steps = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class OrderDelivery:
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
    deliveries: tuple[OrderDelivery, ...]

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


def _delivery(rng: Rng, kind: str, steps: Steps) -> OrderDelivery:
    code = f"{rng.below(10_000):04d}"
    token = f"{rng.below(1 << 40):010x}"
    return OrderDelivery(kind, code, f"https://track.example/{token}", steps)
