"""mart.order_lines: what was sold, and its amount where a rule says what that is."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

UNIT = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
LINE = "line_price/modifiers_per_line/others_subtract/after_discount/half_even_1_per_line"
RULES = [
    {"rule_target": "subtotal", "rule": UNIT, "rule_parameters": [0, 1, 0, 0, 0, 0]},
    {
        "rule_target": "subtotal",
        "rule": LINE,
        "rule_parameters": [1, 1, 1, 1, 2, 1],
        "kept_decimals": 1,
        "rounding_mode": "half_even",
        "rounded_per": "line",
    },
]
ORDER = {
    "order_id": 1,
    "store_id": 7,
    "business_date": "2026-10-31",
    "sale_class": "counted",
    "store_name": "North",
    "currency": "EUR",
}
SUMS = {
    "product_id": 5,
    "name": "Tea",
    "quantity": 2,
    "price": "5.1",
    "modifier_count": 3,
    "add_once": "0.3",
    "add_own": "0.6",
    "other_once": "0.15",
    "other_own": "0.45",
    "has_modifiers": True,
    "has_other": True,
    "is_whole": True,
}

MOST = "99999999999999.9999"


def lines(run_table: Run, rule: str | None, *, is_open: bool = False, **sums: Any) -> dict[str, Any]:
    """Return the row of a line of quantity 2 with these sums, under a rule."""
    (row,) = run_table(
        "mart.order_lines",
        {
            "mart.orders": [ORDER],
            "audit.order_rules": [{"order_id": 1, "line_rule": rule, "line_open_parts": [5] if is_open else []}],
            "audit.formula_rules": RULES,
            "workings.order_line_sums": [{"order_id": 1, "line_no": 1} | SUMS | sums],
        },
    )
    return row


@pytest.mark.duckdb2
def test_an_amount_by_the_rule(run_table: Run) -> None:
    """Price and modifiers count as the rule of the order says, rounded where it rounds lines."""
    row = lines(run_table, UNIT)
    assert row["line_amount"] == 2 * (Decimal("5.1") + Decimal("0.6") + Decimal("0.45"))
    assert (row["price"], row["modifiers_amount"]) == (Decimal("5.1"), 2 * (Decimal("0.6") + Decimal("0.45")))
    assert lines(run_table, LINE)["modifiers_amount"] == Decimal("0.15")
    # 5.1 + 0.3 - 0.15 = 5.25, half even
    assert lines(run_table, LINE)["line_amount"] == Decimal("5.2")
    assert lines(run_table, LINE, price="-5.4", add_once="0.3", other_once="0.15")["line_amount"] == Decimal("-5.2")
    assert (row["store_id"], row["store_name"], str(row["business_date"])) == (7, "North", "2026-10-31")
    assert (row["sale_class"], row["currency"], row["name"], row["product_id"]) == ("counted", "EUR", "Tea", 5)


@pytest.mark.parametrize(
    ("rule", "is_open", "sums", "lacks"),
    [
        (None, False, {}, "no_rule"),
        (UNIT, False, {"is_whole": False}, "missing_input"),
        (UNIT, True, {}, "undecided"),
    ],
)
def test_no_amount_without_a_rule(
    run_table: Run, rule: str | None, is_open: bool, sums: dict[str, Any], lacks: str
) -> None:
    """Without a rule, a price or a known action there is no amount, and why is said; the quantity stays."""
    row = lines(run_table, rule, is_open=is_open, **sums)
    assert (row["line_amount"], row["missing_amount_reason"], row["quantity"]) == (None, lacks, 2)
    assert row["modifiers_amount"] is None


def test_an_open_action_leaves_other_lines_alone(run_table: Run) -> None:
    """Where only the effect of other actions is open, lines whose modifiers are all added have their amount."""
    row = lines(run_table, UNIT, is_open=True, has_other=False)
    assert row["missing_amount_reason"] is None
    assert row["line_amount"] is not None, "though the subtotal of the order has no rule"


def test_fourteen_digits_and_four_decimals(run_table: Run) -> None:
    """The largest price by the largest quantity loses no digit."""
    row = lines(run_table, UNIT, quantity=1_000_000, price="99999999999999.9999", add_own="0.0001", other_own="0")
    assert row["line_amount"] == Decimal("100000000000000.0000") * 1_000_000


def test_no_money_of_the_order(run_table: Run) -> None:
    """No column repeats an order's money: sums over lines are safe."""
    money = {name for name, value in lines(run_table, UNIT).items() if isinstance(value, Decimal)}
    assert money == {"price", "unit_price", "modifiers_amount", "line_amount"}


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("rule", "sums", "unit_price"),
    [
        (UNIT, {}, "5.1"),
        (LINE, {}, "2.55"),
        (LINE, {"quantity": 3, "price": "-5"}, "-1.6667"),
        (LINE, {"quantity": 0}, None),
        (UNIT, {"price": None}, None),
        (UNIT, {"quantity": None}, "5.1"),
        (None, {}, None),
        (None, {"quantity": 1}, "5.1"),
        (LINE, {"price": MOST, "quantity": 2**63 - 1}, "0"),
    ],
)
def test_a_unit_price_by_the_rule(run_table: Run, rule: str | None, sums: dict[str, Any], unit_price: str) -> None:
    """The price of one unit is price, or price by quantity where the rule has it per line; of one unit it is price."""
    row = lines(run_table, rule, **sums)
    assert row["unit_price"] == (unit_price and Decimal(unit_price).quantize(Decimal("0.0001")))
    assert row["modifier_count"] == 3


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("discount", "currency", "prices", "shares"),
    [
        ("10", "EUR", ["1", "1", "1"], ["3.33", "3.33", "3.34"]),
        ("10", "JPY", ["1", "1", "1"], ["3", "3", "4"]),
        ("10", "EUR", ["1"] * 6, ["1.66", "1.67", "1.67", "1.66", "1.67", "1.67"]),
        ("10", "EUR", ["1"] * 7, ["1.42", *["1.43"] * 6]),
        ("1.005", "EUR", ["1", "1", "0"], ["0.50", "0.505", "0"]),
        ("100000.005", "EUR", ["1", "2"], ["33333.33", "66666.675"]),
        ("-99999.99", None, ["99999.9999"] * 6, ["-16666.66", "-16666.67"] * 3),
        ("-0.0003", None, ["2", "1", "0"], ["-0.0002", "-0.0001", "0"]),
        ("1", "EUR", ["0", "3", "0"], ["0", "1", "0"]),
        ("1", "EUR", ["5", "-1"], [None, None]),
        ("1", "EUR", ["0", "0"], [None, None]),
        ("1", "EUR", ["5", None], [None, None]),
        ("0", "EUR", ["5", None], ["0", "0"]),
        (None, "EUR", ["5"], [None]),
        (MOST, "EUR", [MOST, "0.0001"], [f"{MOST[:-2]}", "0.0099"]),
        ("1", "EUR", [MOST] * 11, [None] * 11),
    ],
)
def test_shares_add_up_to_the_discount(
    run_table: Run, discount: str | None, currency: str | None, prices: list[str | None], shares: list[str | None]
) -> None:
    """A discount is shared by amount in units of the currency, to its last digit; not where an amount is unknown."""
    sums = [
        SUMS
        | {"order_id": 1, "line_no": no, "price": price, "quantity": 1, "has_modifiers": False}
        | {"is_whole": price is not None}
        for no, price in enumerate(prices, 1)
    ]
    rows = run_table(
        "mart.order_lines",
        {
            "mart.orders": [ORDER | {"discount": discount, "currency": currency}],
            "audit.order_rules": [{"order_id": 1, "line_rule": UNIT, "line_open_parts": []}],
            "audit.formula_rules": RULES,
            "workings.order_line_sums": sums,
        },
    )
    assert [row["discount_share"] for row in rows] == [share and Decimal(share) for share in shares]
    if None not in shares:
        assert sum(row["discount_share"] for row in rows) == Decimal(str(discount))


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("line", "modifier", "sums"),
    [
        ({}, {}, (True, "2", "6")),
        ({"price": None}, {}, (False, "2", "6")),
        ({"quantity": 1_000_001}, {}, (False, "2", "6")),
        ({"quantity": 2**63 - 1}, {"price": MOST, "quantity": 1}, (False, MOST, MOST)),
        ({}, {"quantity": 2**63 - 1, "price": MOST}, (False, MOST, "0")),
        ({}, {"quantity": None}, (False, "2", "0")),
        ({}, {"price": None}, (False, "0", "0")),
        ({}, {"price": "0", "quantity": None}, (True, "0", "0")),
    ],
)
def test_what_a_line_states(
    run_table: Run, line: dict[str, Any], modifier: dict[str, Any], sums: tuple[bool, str, str]
) -> None:
    """A line is whole where it and its priced modifiers state all, within bounds; no quantity stops the sums."""
    (row,) = run_table(
        "workings.order_line_sums",
        {
            "core.order_lines": [{"order_id": 1, "line_no": 1, "quantity": 2, "price": "5"} | line],
            "core.order_line_modifiers": [
                {"order_id": 1, "line_no": 1, "modifier_no": 1, "action": "add", "quantity": 3, "price": "2"} | modifier
            ],
        },
    )
    assert (row["is_whole"], row["add_once"], row["add_own"]) == (sums[0], Decimal(sums[1]), Decimal(sums[2]))
