"""Which core table holds the objects of a document at each path, so that SQL about every field can be generated.

A documented field that no contract has a column for is landed and typed, and shown nowhere else. Knows nothing of how
documents are typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.landing.shape import FIELDS, Field
from pipelines.warehouse.contracts import menus, orders, stores

if TYPE_CHECKING:
    from pipelines.warehouse.contracts.contract import Contract


@dataclass(frozen=True)
class Held:
    """The table of the objects at one path: its contract, its name of their own id, and which of its rows they are."""

    contract: type[Contract]
    id_column: str = ""
    where: str = "true"

    @property
    def table(self) -> str:
        """The table's name, with its schema."""
        return self.contract.grain().table

    def column(self, name: str) -> str | None:
        """Return the column of a field of the typed document; None if the table has none."""
        column = self.id_column if name == "id" else name
        return column if column in self.contract.__annotations__ else None


HELD: dict[str, dict[str, Held]] = {
    "stores": {"": Held(stores.Stores, "store_id")},
    "orders": {
        "": Held(orders.Orders, "order_id"),
        "/items/*": Held(orders.OrderLines, "line_id"),
        "/items/*/modifiers/*": Held(orders.OrderLineModifiers, "modifier_id"),
        "/deliveries/*": Held(orders.OrderDeliveries, "delivery_id"),
    },
    "menus": {
        "/menu": Held(menus.Menus, "menu_id"),
        "/menu/price_groups/*": Held(menus.PriceGroups, "price_group_id"),
        "/menu/price_groups/*/prices/*": Held(menus.MenuPrices),
        "/products/*": Held(menus.Products),
        "/modifiers/*": Held(menus.Modifiers),
        "/products/*/modifiers/*": Held(menus.ModifierEdges, where="facts.parent_type = 'product'"),
        "/modifiers/*/children/*": Held(menus.ModifierEdges, where="facts.parent_type = 'modifier'"),
    },
}


def held_fields(kind: str) -> dict[str, dict[Field, str]]:
    """Return path → field → column, of the fields that core tables have; of a hidden one the column of has_<name>."""
    objects = FIELDS[kind].objects()
    return {
        path: {
            field: column
            for field in objects[path].leaves
            if (column := held.column(f"has_{field.name}" if field.is_hidden else field.name))
        }
        for path, held in HELD[kind].items()
    }
