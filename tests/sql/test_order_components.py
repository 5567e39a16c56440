"""workings.order_components: the amounts that components of the settings add to an order's total."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.settings import read_conditions

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ORDER = {
    "order_id": 1,
    "platform": "web",
    "dispatch_method": "pick_up",
    "store_id": 7,
    "status": "ready",
    "business_date": "2026-10-31",
    "subtotal_price": "20.05",
    "delivery_price": "3",
    "tip": "2",
    "discount": "4",
    "loyalty_discount": "1",
}


def components(run_table: Run, *given: dict[str, Any], **order: Any) -> list[tuple[Any, ...]]:
    """Return (component_no, name, amount) of an order, for the components given."""
    numbered = [{"component_no": number, "name": "c", **each} for number, each in enumerate(given, 1)]
    rows = run_table("workings.order_components", {"mart.orders": [ORDER | order], "raw.formula_components": numbered})
    return [(row["component_no"], row["name"], row["amount"]) for row in rows]


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("base", "amount"),
    [
        ("subtotal", "1.754375"),
        ("subtotal_less_discount", "1.404375"),
        ("delivery", "0.2625"),
        ("tip", "0.175"),
        ("discount", "0.35"),
        ("loyalty", "0.0875"),
        ("subtotal_less_all_discounts", "1.316875"),
        ("discount_above_subtotal", "0"),
        ("subtotal_and_delivery", "2.016875"),
        ("subtotal_and_delivery_less_all_discounts", "1.579375"),
    ],
)
def test_share_of_each_base_keeps_its_decimals(run_table: Run, base: str, amount: str) -> None:
    """8.75% of each base, all decimals kept."""
    assert components(run_table, {"share": "0.0875", "base": base}) == [(1, "c", Decimal(amount))]


def test_a_discount_stops_at_the_subtotal(run_table: Run) -> None:
    """What a discount has above the subtotal is a base, of which a share may have six decimals; null if unknown."""
    given = {"share": "0.123456", "base": "discount_above_subtotal"}
    assert components(run_table, given, discount="30.05") == [(1, "c", Decimal("1.23456"))]
    assert components(run_table, given, discount=None) == [(1, "c", None)]


def test_constant_is_its_amount(run_table: Run) -> None:
    """A constant is added whatever the order states, beside a share, each by its number."""
    given = [{"name": "bag", "amount": "0.30"}, {"name": "tax", "share": "0.1", "base": "subtotal"}]
    assert components(run_table, *given, subtotal_price=None) == [(1, "bag", Decimal("0.3")), (2, "tax", None)]


def test_base_that_is_not_stated_gives_null(run_table: Run) -> None:
    """A share of an amount that is not stated is unknown, not zero; of zero it is zero."""
    less = {"share": "0.1", "base": "subtotal_less_discount"}
    assert components(run_table, less, discount=None) == [(1, "c", None)]
    assert components(run_table, {"share": "0.1", "base": "tip"}, tip="0") == [(1, "c", 0)]


@pytest.mark.parametrize(
    ("scope", "applies"),
    [
        ({}, True),
        ({"platform": "web", "dispatch_method": "pick_up", "store_id": 7, "status": "ready"}, True),
        ({"platform": "ios"}, False),
        ({"dispatch_method": "store_delivery"}, False),
        ({"store_id": 8}, False),
        ({"status": "cancelled"}, False),
        ({"first_day": "2026-10-31", "last_day": "2026-10-31"}, True),
        ({"first_day": "2026-11-01"}, False),
        ({"last_day": "2026-10-30"}, False),
    ],
)
def test_component_applies_within_its_scope(run_table: Run, scope: dict[str, Any], *, applies: bool) -> None:
    """Each condition limits it, both days included."""
    assert len(components(run_table, {"amount": "1"} | scope)) == applies


def test_condition_on_what_an_order_lacks_leaves_it_out(run_table: Run) -> None:
    """An order without a day or platform is not within a scope that names one."""
    assert components(run_table, {"amount": "1", "first_day": "2026-10-01"}, business_date=None) == []
    assert components(run_table, {"amount": "1", "platform": "web"}, platform=None) == []


def test_an_order_of_a_closed_day_keeps_the_components_of_its_close(run_table: Run) -> None:
    """Later components are for open days; what they no longer add stays in closed ones."""
    closed = {"order_id": 1, "close_entry_no": 4}
    given = {
        "mart.orders": [ORDER, ORDER | {"order_id": 2}],
        "workings.order_closes": [closed, {"order_id": 2}],
        "raw.formula_components": [{"component_no": 1, "name": "now", "amount": "1"}],
        "raw.closed_components": [
            {"close_entry_no": 4, "component_no": 1, "name": "then", "amount": "2"},
            {"close_entry_no": 5, "component_no": 1, "name": "other", "amount": "3"},
        ],
    }
    rows = run_table("workings.order_components", given)
    assert [(row["order_id"], row["name"], row["amount"]) for row in rows] == [(1, "then", 2), (2, "now", 1)]
    given["raw.closed_components"] = []
    assert [row["order_id"] for row in run_table("workings.order_components", given)] == [2]


@pytest.mark.parametrize(
    ("when", "applies"),
    [
        ("subtotal_price < 20.06", True),
        ("subtotal_price < 20.05", False),
        ("subtotal_price >= 20.05 and subtotal_price <= 20.05", True),
        ("subtotal_price > 20.04 and tip = 0", False),
        ("store_id != 7", False),
        ("weekday = 6", True),
        ("platform = 'web' and status != 'a < b and c'", True),
        ("platform != 'web'", False),
        ("daypart = 'lunch'", None),
        ("line_count > 3", None),
        ("line_count > 3 and tip = 0", False),
    ],
)
def test_a_component_applies_where_its_conditions_are_met(run_table: Run, when: str, applies: bool | None) -> None:
    """All of them; of an order that lacks a field which decides, the amount is unknown, not zero."""
    given = {"name": "fee", "amount": "1.5", "conditions": read_conditions(when)}
    expected = {True: [(1, "fee", Decimal("1.5"))], False: [], None: [(1, "fee", None)]}
    assert components(run_table, given, weekday=6) == expected[applies]


def test_a_closed_day_keeps_the_condition_of_a_component(run_table: Run) -> None:
    """As it keeps the component: what settings say now is for open days."""
    closed = {"close_entry_no": 4, "component_no": 1, "name": "fee", "amount": "1.5"}
    rows = run_table(
        "workings.order_components",
        {
            "mart.orders": [ORDER, ORDER | {"order_id": 2, "subtotal_price": "9"}],
            "workings.order_closes": [{"order_id": each, "close_entry_no": 4} for each in (1, 2)],
            "raw.closed_components": [closed | {"conditions": read_conditions("subtotal_price < 10")}],
            "raw.formula_components": [{"component_no": 1, "name": "fee", "amount": "2"}],
        },
    )
    assert [(row["order_id"], row["amount"]) for row in rows] == [(2, Decimal("1.5"))]


@pytest.mark.parametrize("key", ["price_factor", "step"])
def test_a_factor_or_a_step_adds_nothing(run_table: Run, key: str) -> None:
    """Each is given as it is; of an order that lacks a field which decides whether it applies, the amount is null."""
    found = []
    for when in ("tip = 2", "tip = 3", "line_count > 3"):
        component = {"component_no": 1, "name": "c", key: "1.08", "conditions": read_conditions(when)}
        rows = run_table("workings.order_components", {"mart.orders": [ORDER], "raw.formula_components": [component]})
        found.append([(row["amount"], row["price_factor"], row["step"]) for row in rows])
    given = tuple(Decimal("1.08") if name == key else None for name in ("price_factor", "step"))
    assert found == [[(0, *given)], [], [(None, *given)]]


def test_a_share_is_rounded_by_order_or_by_line(run_table: Run) -> None:
    """7% of two lines of 0.50 and 19.55: 0.035 and 1.3685 are 0.04 and 1.37; of the order 1.4035 is 1.40."""
    share = {"component_no": 1, "name": "tax", "share": "0.07", "base": "subtotal"}
    line = {"order_id": 1, "quantity": 1, "add_once": 0, "add_own": 0, "decimals": 2}
    lines = [line | {"line_no": 1, "price": "0.5"}, line | {"line_no": 2, "price": "17", "add_own": "2.55"}]

    def amount(per: str | None, *held: dict[str, Any], **stated: str) -> Any:
        order = ORDER | {"currency": "EUR"} | stated
        given = {"raw.formula_components": [share | {"rounded_per": per}], "mart.orders": [order]}
        (row,) = run_table("workings.order_components", given | {"workings.order_line_sums": list(held)})
        return row["amount"]

    assert amount(None, *lines) == Decimal("1.4035")
    assert amount("order", *lines) == Decimal("1.40")
    assert amount("line", *lines) == Decimal("1.41")
    tie = {"subtotal_price": "19.50"}  # 1.365 of it
    ways = {"order": "1.37", "half_even": "1.36", "down": "1.36", "up": "1.37"}
    assert {way: amount(way, *lines, **tie) for way in ways} == {way: Decimal(text) for way, text in ways.items()}
    assert amount("line", *lines[:1]) is None, "lines that miss the subtotal"
    halves = [line | {"line_no": 1, "quantity": 2, "price": "10.025"}]
    assert amount("line", *halves) == Decimal("1.40"), "the line, not the unit"
