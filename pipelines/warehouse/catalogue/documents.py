"""Which core table holds the objects of a document at each path, so that SQL about every field can be generated.

A documented field that no table has a column for is landed and typed, and shown nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.landing.charges import read_sql
from pipelines.landing.shape import FIELDS, Field
from pipelines.resources import resource
from pipelines.warehouse.catalogue.reads import reads


@dataclass(frozen=True)
class Held:
    """The table of the objects at one path, its name of their own id, and which of its rows they are."""

    table: str
    id_column: str = ""
    where: str = "true"

    def column(self, name: str) -> str | None:
        """Return the column of a field of the typed document; None if the table has none."""
        column = self.id_column if name == "id" else name
        schema, _, table = self.table.partition(".")
        select = read_sql(resource("sql") / schema / f"{table}.sql")
        return column if column in reads(select).columns else None


HELD: dict[str, dict[str, Held]] = {
    "stores": {"": Held("core.stores", "store_id")},
    "orders": {
        "": Held("core.orders", "order_id"),
        "/items/*": Held("core.order_lines", "line_id"),
        "/items/*/modifiers/*": Held("core.order_line_modifiers", "modifier_id"),
        "/deliveries/*": Held("core.order_deliveries", "delivery_id"),
    },
    "menus": {
        "/menu": Held("core.menus", "menu_id"),
        "/menu/price_groups/*": Held("core.price_groups", "price_group_id"),
        "/menu/price_groups/*/prices/*": Held("core.menu_prices"),
        "/products/*": Held("core.products"),
        "/modifiers/*": Held("core.modifiers"),
        "/products/*/modifiers/*": Held("core.modifier_edges", where="facts.parent_type = 'product'"),
        "/modifiers/*/children/*": Held("core.modifier_edges", where="facts.parent_type = 'modifier'"),
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
