"""The arithmetic of orders."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest

from pipelines.sandbox.world import Config, World

D = Decimal


def documents(config: Config) -> list[dict[str, Any]]:
    """Return a world's orders, their numbers as exact decimals."""
    return [json.loads(body, parse_float=D) for _, _, body in World(config).orders()]


@pytest.mark.slow
def test_orders_add_up_exactly() -> None:
    """Without faults every subtotal is that of its lines and every total that of its parts, to the last digit."""
    for order in documents(Config(orders=2000)):
        lines = sum(
            line["quantity"] * (line["price"] + sum(m["price"] * m["quantity"] for m in line["modifiers"]))
            for line in order["items"]
        )
        parts = order["delivery_price"] + order["tip"] - order["discount"] - order["loyalty_discount"]
        assert lines == order["subtotal_price"]
        assert lines + parts == order["total_price"]
        assert order["total_price"] >= 0


def test_numbers_are_plain_decimals() -> None:
    """No exponent, no zero at the end, no more than four decimals and no binary tail in any number."""
    world = World(Config(orders=500))
    for body in [*(body for _, _, body in world.orders()), *filter(None, map(world.menu, world.menu_ids))]:
        text = re.sub(rb'"(\\.|[^"\\])*"|null|true|false', b"", re.sub(rb'"user_l[^,]*', b"", body))
        for number in re.findall(rb"[^\[\]{},:]+", text):
            assert re.fullmatch(rb"-?\d+(\.\d{0,3}[1-9])?", number), number
