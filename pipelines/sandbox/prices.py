"""Add up an order by a rule that is known: the price arithmetic of a world.

The partner's interface states no rule, so a world may choose one. Exact decimals throughout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ZERO = Decimal(0)
CENT = Decimal("0.01")
_ROUNDINGS = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN}


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceRule:
    """How the prices shown in an order make its subtotal and its total.

    `quantity`: price is of one unit and counts quantity times; else it is the price of the whole line.
    `modifiers`: counted per unit, per line, already inside the price shown, or not counted.
    `modifier_quantity`: a modifier counts its own quantity of times.
    `discount_taken_off`: the subtotal has the discount subtracted already.
    `rounding`, `decimals`, `rounded`: amounts are rounded per line, or the order's sum once.
    `delivery`, `tip`, `discount`, `loyalty`: the sign with which a part goes into the total; 0 leaves it out.
    `fee`: a part of the total that no field states.
    """

    quantity: bool = True
    modifiers: Literal["per_unit", "per_line", "inside", "not_counted"] = "per_unit"
    modifier_quantity: bool = True
    discount_taken_off: bool = False
    rounding: Literal["none", "half_up", "half_even"] = "none"
    decimals: int = 2
    rounded: Literal["line", "order"] = "order"
    delivery: int = 1
    tip: int = 1
    discount: int = -1
    loyalty: int = -1
    fee: Decimal = ZERO

    def modifier_sum(self, modifiers: Iterable[tuple[Decimal, int]]) -> Decimal:
        """Add up (price, quantity) of the modifiers of one unit."""
        if self.modifier_quantity:
            return sum((price * quantity for price, quantity in modifiers), ZERO)
        return sum((price for price, _ in modifiers), ZERO)

    def shown_price(self, unit: Decimal, quantity: int, modifiers: Iterable[tuple[Decimal, int]]) -> Decimal:
        """Return the price that a line shows for a product of this unit price."""
        if self.modifiers == "inside":
            unit += self.modifier_sum(modifiers)
        return unit if self.quantity else unit * quantity

    def line_amount(self, price: Decimal, quantity: int, modifiers: Iterable[tuple[Decimal, int]]) -> Decimal:
        """Return what a line adds to the subtotal, from the line's fields."""
        times = quantity if self.quantity else 1
        amount = price * times
        if self.modifiers == "per_unit":
            # "Per unit" is about the quantity ordered, whatever the line's own price stands for.
            amount += self.modifier_sum(modifiers) * quantity
        elif self.modifiers == "per_line":
            amount += self.modifier_sum(modifiers)
        return self._round(amount) if self.rounded == "line" else amount

    def subtotal(self, amounts: Sequence[Decimal], discount: Decimal) -> Decimal:
        """Return the subtotal of lines of these amounts."""
        amount = sum(amounts, ZERO)
        if self.discount_taken_off:
            amount -= discount
        return self._round(amount) if self.rounded == "order" else amount

    def total(self, subtotal: Decimal, delivery: Decimal, tip: Decimal, discount: Decimal, loyalty: Decimal) -> Decimal:
        """Return the total of these parts."""
        parts = self.delivery * delivery + self.tip * tip + self.discount * discount + self.loyalty * loyalty
        return subtotal + parts + self.fee

    def _round(self, amount: Decimal) -> Decimal:
        if self.rounding == "none":
            return amount
        return amount.quantize(Decimal(1).scaleb(-self.decimals), _ROUNDINGS[self.rounding])


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceRules:
    """The rule of a world: one for all orders, or another one for some platforms."""

    default: PriceRule = PriceRule()
    by_platform: Mapping[str, PriceRule] = field(default_factory=dict)

    def of(self, platform: str) -> PriceRule:
        """Return the rule that an order of this platform follows."""
        return self.by_platform.get(platform, self.default)


def shortest(amount: Decimal) -> Decimal:
    """Return the amount as services write it: 12.5 for 12.50, 10 for 10.00."""
    text = format(amount, "f")
    return Decimal(text.rstrip("0").rstrip(".")) if "." in text else amount
