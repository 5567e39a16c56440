"""Menus as they stand at a time: price groups, products and nested modifiers, with their histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from decimal import Decimal

    from pipelines.sandbox.dishes import Kind

T = TypeVar("T")
# What a thing was from which moment on, in seconds since 1970; the first entry holds from the beginning.
History = tuple[tuple[int, T], ...]


def at(history: History[T], moment: int) -> T:
    """Return what held at the moment."""
    value = history[0][1]
    for since, later in history[1:]:
        if since > moment:
            break
        value = later
    return value


@dataclass(frozen=True, slots=True)
class Reference:
    """A modifier in a place: below a product or below another modifier."""

    modifier_id: int
    position: int
    prices: History[Decimal]


@dataclass(frozen=True, slots=True)
class Modifier:
    """An option, or a group of options: then `kind` says how one chooses among its children."""

    modifier_id: int
    name: str
    description: str
    kind: Kind | None
    children: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A dish or drink, with the choices that it opens."""

    product_id: int
    name: str
    descriptions: History[str]
    dispatch_method: str
    choices: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Price:
    """A product in a price group: (price, delivery price) over time."""

    price_id: int
    product_id: int
    position: int
    channel: str
    prices: History[tuple[Decimal, Decimal]]


@dataclass(frozen=True, slots=True)
class PriceGroup:
    """A section of a menu."""

    group_id: int
    name: str
    position: int
    prices: tuple[Price, ...]


@dataclass(frozen=True, slots=True)
class Menu:
    """A menu with everything that it refers to; `changes` are the moments at which it changes."""

    menu_id: int
    name: str
    groups: tuple[PriceGroup, ...]
    products: dict[int, Product]
    modifiers: dict[int, Modifier]
    changes: tuple[int, ...]

    def document(self, moment: int) -> dict[str, Any]:
        """Return the menu as the interface shows it, as it stood at the moment."""
        return {
            "menu": {
                "id": self.menu_id,
                "name": self.name,
                "price_groups": [_group(group, moment) for group in self.groups],
            },
            "products": {
                str(product.product_id): {
                    "name": product.name,
                    "description": at(product.descriptions, moment),
                    "dispatch_method": product.dispatch_method,
                    "modifiers": [_reference(reference, moment) for reference in product.choices],
                }
                for product in self.products.values()
            },
            "modifiers": {
                str(modifier.modifier_id): {
                    "name": modifier.name,
                    "description": modifier.description,
                    "children": [_reference(reference, moment) for reference in modifier.children],
                }
                for modifier in self.modifiers.values()
            },
        }


def _group(group: PriceGroup, moment: int) -> dict[str, Any]:
    return {
        "id": group.group_id,
        "name": group.name,
        "position": group.position,
        "prices": [_price(price, moment) for price in group.prices],
    }


def _price(price: Price, moment: int) -> dict[str, Any]:
    base, delivered = at(price.prices, moment)
    return {
        "price_id": price.price_id,
        "product_id": price.product_id,
        "position": price.position,
        "channel": price.channel,
        "price": base,
        "delivery_price": delivered,
    }


def _reference(reference: Reference, moment: int) -> dict[str, Any]:
    return {
        "modifier_id": reference.modifier_id,
        "position": reference.position,
        "price": at(reference.prices, moment),
    }
