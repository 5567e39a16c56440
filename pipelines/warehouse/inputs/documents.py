"""How landed documents are typed: each field of the interface by its name, money exact out of JSON strings.

A field that a document lacks is null. Knows nothing of files or tables.
"""

from __future__ import annotations

import json
from typing import Any

_MODIFIER = {"id": "BIGINT", "name": "VARCHAR", "price": "DECIMAL(18,4)", "action": "VARCHAR", "quantity": "BIGINT"}
_ITEM = {
    "id": "BIGINT",
    "product_id": "BIGINT",
    "quantity": "BIGINT",
    "name": "VARCHAR",
    "has_instructions": "BOOLEAN",
    "instructions": "VARCHAR",
    "price": "DECIMAL(18,4)",
    "modifiers": [_MODIFIER],
}
_DELIVERY = {
    "id": "BIGINT",
    "type": "VARCHAR",
    "has_confirmation_code": "BOOLEAN",
    "confirmation_code": "VARCHAR",
    "status": "VARCHAR",
    "has_tracking_url": "BOOLEAN",
    "tracking_url": "VARCHAR",
}
# Times stay text here: sql/ casts them, and a cast that fails says so, which from_json does not.
_ORDER = {
    "id": "BIGINT",
    "has_user_phone": "BOOLEAN",
    "has_user_email": "BOOLEAN",
    "has_user_address": "BOOLEAN",
    "has_user_name": "BOOLEAN",
    "has_apartment_details": "BOOLEAN",
    "has_user_latitude": "BOOLEAN",
    "has_user_longitude": "BOOLEAN",
    "has_dispatch_note": "BOOLEAN",
    "dispatch_note": "VARCHAR",
    "dispatch_method": "VARCHAR",
    "store_id": "BIGINT",
    "status": "VARCHAR",
    "platform": "VARCHAR",
    "requested_time": "VARCHAR",
    "promised_delivery_time": "VARCHAR",
    "promised_pick_up_time": "VARCHAR",
    "created_at": "VARCHAR",
    "subtotal_price": "DECIMAL(18,4)",
    "delivery_price": "DECIMAL(18,4)",
    "tip": "DECIMAL(18,4)",
    "discount": "DECIMAL(18,4)",
    "loyalty_discount": "DECIMAL(18,4)",
    "total_price": "DECIMAL(18,4)",
    "items": [_ITEM],
    "deliveries": [_DELIVERY],
}
_PRICE = {
    "price_id": "BIGINT",
    "product_id": "BIGINT",
    "position": "BIGINT",
    "channel": "VARCHAR",
    "price": "DECIMAL(18,4)",
    "delivery_price": "DECIMAL(18,4)",
}
_REFERENCE = {"modifier_id": "BIGINT", "position": "BIGINT", "price": "DECIMAL(18,4)"}
_MENU = {
    "menu": {
        "id": "BIGINT",
        "name": "VARCHAR",
        "price_groups": [{"id": "BIGINT", "name": "VARCHAR", "position": "BIGINT", "prices": [_PRICE]}],
    },
    "products": {
        "*": {
            "name": "VARCHAR",
            "description": "VARCHAR",
            "dispatch_method": "VARCHAR",
            "modifiers": [_REFERENCE],
        }
    },
    "modifiers": {"*": {"name": "VARCHAR", "description": "VARCHAR", "children": [_REFERENCE]}},
}
_STORE = {
    "id": "BIGINT",
    "name": "VARCHAR",
    "timezone": "VARCHAR",
    "currency": "VARCHAR",
    "menu_ids": ["BIGINT"],
    "attributes": "VARCHAR",
}
_OPEN = {"_unknown": {"*": "VARCHAR"}, "_kept": "VARCHAR"}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "stores": _STORE | _OPEN,
    "menus": _MENU | _OPEN,
    "orders": _ORDER | _OPEN,
}
TIMES = ("requested_time", "promised_delivery_time", "promised_pick_up_time", "created_at")
# An order as two versions of it are compared: an absent array is an empty one, and times are instants.
CONTENT: dict[str, Any] = _ORDER | dict.fromkeys(TIMES, "TIMESTAMP WITH TIME ZONE")
ENTITY = {"stores": "store_id", "menus": "menu_id", "orders": "order_id"}


def sql_type(shape: Any) -> str:
    """Return DuckDB's type of a document's shape: `[…]` is a list, `{"*": …}` a map, another dict a struct."""
    if isinstance(shape, list):
        return f"{sql_type(shape[0])}[]"
    if isinstance(shape, dict) and "*" in shape:
        return f"MAP(VARCHAR, {sql_type(shape['*'])})"
    if isinstance(shape, dict):
        return "STRUCT(" + ", ".join(f'"{name}" {sql_type(each)}' for name, each in shape.items()) + ")"
    return str(shape)


def structure(shape: Any) -> str:
    """Return the same shape as the second argument of `from_json`."""
    return json.dumps(_structure(shape))


def _structure(shape: Any) -> Any:
    if isinstance(shape, list):
        return [_structure(shape[0])]
    if isinstance(shape, dict) and "*" in shape:
        return f"MAP(VARCHAR, {sql_type(shape['*'])})"
    if isinstance(shape, dict):
        return {name: _structure(each) for name, each in shape.items()}
    return shape
