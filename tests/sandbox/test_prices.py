"""The arithmetic of orders: by the default rule, and by each other rule that a world may have."""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from pipelines.sandbox.prices import PriceRule, PriceRules, shortest
from pipelines.sandbox.world import Config, World

D = Decimal
MODIFIERS = [(D("0.50"), 2), (D("0.25"), 1)]


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
    """No exponent, no more than four decimals and no binary tail in any number."""
    world = World(Config(orders=500, price_decimals=4))
    for body in [*(body for _, _, body in world.orders()), *filter(None, map(world.menu, world.menu_ids))]:
        text = re.sub(rb'"(\\.|[^"\\])*"|null|true|false', b"", re.sub(rb'"user_l[^,]*', b"", body))
        for number in re.findall(rb"[^\[\]{},:]+", text):
            assert re.fullmatch(rb"-?\d+(\.\d{1,4})?", number), number


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (PriceRule(), "15.75"),  # 3 × (4 + 1.25)
        (PriceRule(modifier_quantity=False), "14.25"),  # 3 × (4 + 0.75)
        (PriceRule(modifiers="per_line"), "13.25"),  # 3 × 4 + 1.25
        (PriceRule(modifiers="not_counted"), "12"),
        (PriceRule(modifiers="inside"), "15.75"),  # shown as 5.25
        (PriceRule(quantity=False), "15.75"),  # shown as 12, and 3 × 1.25
        (PriceRule(quantity=False, modifiers="per_line"), "13.25"),
        (PriceRule(quantity=False, modifiers="inside"), "15.75"),  # shown as 15.75
        (PriceRule(rounding="half_up", decimals=0, rounded="line"), "16"),
    ],
)
def test_a_line_by_each_rule(rule: PriceRule, expected: str) -> None:
    """Three of a product for 4.00, with a modifier twice for 0.50 and one for 0.25."""
    shown = rule.shown_price(D(4), 3, MODIFIERS)
    assert rule.line_amount(shown, 3, MODIFIERS) == D(expected)


@pytest.mark.parametrize(
    ("rounding", "decimals", "expected"),
    [
        ("none", 2, "2.675"),
        ("half_up", 3, "2.675"),
        ("half_up", 2, "2.68"),
        ("half_even", 2, "2.68"),
        ("half_up", 1, "2.7"),
        ("half_up", 0, "3"),
    ],
)
def test_an_order_is_rounded_once(rounding: Any, decimals: int, expected: str) -> None:
    """The sum is rounded, not its lines."""
    rule = PriceRule(rounding=rounding, decimals=decimals)
    assert rule.subtotal([D("1.335"), D("1.34")], D(0)) == D(expected)


def test_half_up_and_half_even_differ() -> None:
    """A tie goes up, or to the even digit."""
    assert PriceRule(rounding="half_up").subtotal([D("0.125")], D(0)) == D("0.13")
    assert PriceRule(rounding="half_even").subtotal([D("0.125")], D(0)) == D("0.12")


def test_discount_taken_off_and_signs_of_parts() -> None:
    """A subtotal may be after discount, and a part may be left out of the total or counted the other way."""
    rule = PriceRule(discount_taken_off=True, discount=0, tip=-1)
    subtotal = rule.subtotal([D(10)], D(2))
    assert subtotal == 8
    assert rule.total(subtotal, D(3), D(1), D(2), D("0.5")) == D("9.5")


def test_a_world_follows_its_rules_by_platform() -> None:
    """Orders of one platform follow another rule than the rest."""
    inside = PriceRule(modifiers="inside", rounding="half_up", decimals=1, rounded="line")
    rules = PriceRules(default=PriceRule(modifiers="per_line"), by_platform={"web": inside})
    seen = set()
    for order in documents(Config(orders=600, rules=rules, price_decimals=3)):
        expected = D(0)
        for line in order["items"]:
            modifiers = sum(m["price"] * m["quantity"] for m in line["modifiers"])
            if order["platform"] == "web":
                expected += D(line["price"] * line["quantity"]).quantize(D("0.1"), ROUND_HALF_UP)
            else:
                expected += line["price"] * line["quantity"] + modifiers
        assert order["subtotal_price"] == expected
        seen.add(order["platform"] == "web")
    assert seen == {True, False}


def test_rounding_rules_can_be_told_apart() -> None:
    """With prices finer than a cent some orders come out differently under half up and half even."""
    even = PriceRules(default=PriceRule(rounding="half_even"))
    differ = 0
    for order in documents(Config(orders=600, rules=even, price_decimals=3)):
        lines = sum(
            line["quantity"] * (line["price"] + sum(m["price"] * m["quantity"] for m in line["modifiers"]))
            for line in order["items"]
        )
        assert order["subtotal_price"] == D(lines).quantize(D("0.01"), ROUND_HALF_EVEN)
        differ += order["subtotal_price"] != D(lines).quantize(D("0.01"), ROUND_HALF_UP)
    assert differ > 5


@pytest.mark.parametrize(("amount", "text"), [("10.00", "10"), ("12.50", "12.5"), ("0.00", "0"), ("100", "100")])
def test_amounts_are_written_as_services_write_them(amount: str, text: str) -> None:
    """Without zeros at the end, and never as 1E+2."""
    assert str(shortest(D(amount))) == text
