"""The documented shape of each kind (interface section 2), as data: what stands where, and what is personal.

Knows nothing of how a document is read or judged.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Leaf = Literal["integer", "text", "time", "money", "number"]


class Field(NamedTuple):
    """A field that holds one value."""

    name: str
    leaf: Leaf
    personal: bool = False  # sealed, `has_<name>` in its place
    free: bool = False  # personal unless settings name it in plaintext_fields
    required: bool = False  # neither null nor absent
    adds_to: str = ""  # the sum it is part of


class Many(NamedTuple):
    """A field that holds an array of objects."""

    name: str
    of: Shape
    counted_as: str


class Keyed(NamedTuple):
    """A field that holds an object whose keys are ids."""

    name: str
    of: Shape
    counted_as: str


class One(NamedTuple):
    """A field that holds an object."""

    name: str
    of: Shape
    required: bool = False


class Shape(NamedTuple):
    """An object: its fields in the interface's order."""

    fields: tuple[Field | Many | Keyed | One, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names of all fields."""
        return frozenset(field.name for field in self.fields)


_ORDER_MODIFIER = Shape(
    (
        Field("id", "integer"),
        Field("name", "text"),
        Field("price", "money", adds_to="modifier_money"),
        Field("action", "text"),
        Field("quantity", "integer"),
    )
)
_ITEM = Shape(
    (
        Field("id", "integer"),
        Field("product_id", "integer"),
        Field("quantity", "integer"),
        Field("name", "text"),
        Field("instructions", "text", free=True),
        Field("price", "money", adds_to="line_money"),
        Many("modifiers", _ORDER_MODIFIER, "modifiers"),
    )
)
_DELIVERY = Shape(
    (
        Field("id", "integer"),
        Field("type", "text"),
        Field("confirmation_code", "text", free=True),
        Field("status", "text"),
        Field("tracking_url", "text", free=True),
    )
)
ORDER = Shape(
    (
        Field("id", "integer", required=True),
        Field("user_phone", "text", personal=True),
        Field("user_email", "text", personal=True),
        Field("user_address", "text", personal=True),
        Field("user_name", "text", personal=True),
        Field("apartment_details", "text", personal=True),
        Field("user_latitude", "number", personal=True),
        Field("user_longitude", "number", personal=True),
        Field("dispatch_note", "text", free=True),
        Field("dispatch_method", "text"),
        Field("store_id", "integer"),
        Field("status", "text"),
        Field("platform", "text"),
        Field("requested_time", "time"),
        Field("promised_delivery_time", "time"),
        Field("promised_pick_up_time", "time"),
        Field("created_at", "time"),
        Field("subtotal_price", "money", adds_to="order_money"),
        Field("delivery_price", "money", adds_to="order_money"),
        Field("tip", "money", adds_to="order_money"),
        Field("discount", "money", adds_to="order_money"),
        Field("loyalty_discount", "money", adds_to="order_money"),
        Field("total_price", "money", adds_to="order_money"),
        Many("items", _ITEM, "lines"),
        Many("deliveries", _DELIVERY, "deliveries"),
    )
)

_PRICE = Shape(
    (
        Field("price_id", "integer"),
        Field("product_id", "integer", required=True),
        Field("position", "integer"),
        Field("channel", "text"),
        Field("price", "money", adds_to="price_money"),
        Field("delivery_price", "money", adds_to="delivery_price_money"),
    )
)
_PRICE_GROUP = Shape(
    (
        Field("id", "integer"),
        Field("name", "text"),
        Field("position", "integer"),
        Many("prices", _PRICE, "prices"),
    )
)
_REFERENCE = Shape(
    (
        Field("modifier_id", "integer", required=True),
        Field("position", "integer"),
        Field("price", "money", adds_to="reference_money"),
    )
)
_PRODUCT = Shape(
    (
        Field("name", "text"),
        Field("description", "text"),
        Field("dispatch_method", "text"),
        Many("modifiers", _REFERENCE, "product_references"),
    )
)
_MODIFIER = Shape(
    (
        Field("name", "text"),
        Field("description", "text"),
        Many("children", _REFERENCE, "child_references"),
    )
)
MENU = Shape(
    (
        One(
            "menu",
            Shape(
                (
                    Field("id", "integer", required=True),
                    Field("name", "text"),
                    Many("price_groups", _PRICE_GROUP, "price_groups"),
                )
            ),
            required=True,
        ),
        Keyed("products", _PRODUCT, "products"),
        Keyed("modifiers", _MODIFIER, "modifiers"),
    )
)

COUNTS: dict[str, tuple[str, ...]] = {
    "orders": ("lines", "modifiers", "deliveries"),
    "menus": (
        "price_groups",
        "prices",
        "products",
        "product_references",
        "modifiers",
        "child_references",
    ),
    "stores": ("menu_ids",),
}
SUMS: dict[str, tuple[str, ...]] = {
    "orders": ("order_money", "line_money", "modifier_money"),
    "menus": ("price_money", "delivery_price_money", "reference_money"),
    "stores": (),
}
