"""Real orders: chipotle's prices per unit, and the same orders with prices per line."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import duckdb

CHIPOTLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "chipotle"


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    """Give the orders, numbers as exact decimals."""
    file = CHIPOTLE / "orders.ndjson"
    if not file.exists():
        pytest.skip(f"{file.parent.name} is not beside this checkout")
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line, parse_float=Decimal) for line in lines]


def orders_of(documents: list[dict[str, Any]], world: Any, *, per_line: bool) -> list[Any]:
    """Return the orders; `per_line` states the price of the whole line instead of one unit's."""
    return [
        world.order(
            document["id"],
            [
                world.line(
                    Decimal(item["price"]) * (item["quantity"] if per_line else 1),
                    item["quantity"],
                    [world.modifier(Decimal(m["price"]), m["quantity"], m["action"]) for m in item["modifiers"]],
                )
                for item in document["items"]
            ],
            subtotal=Decimal(document["subtotal_price"]),
            total=Decimal(document["total_price"]),
        )
        for document in documents
    ]


def refuted(con: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """Return by how they take a line's price whether all forms that are shown are refuted."""
    rows = con.sql(
        """
        select string_split(form, '/')[1], bool_and(is_refuted) from workings.formula_evidence
        where rule_target = 'subtotal' and part_no is null group by 1
        """
    ).fetchall()
    return dict(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("per_line", "true", "false"), [(False, "unit_price", "line_price"), (True, "line_price", "unit_price")]
)
def test_how_a_price_counts_is_found(
    per_line: bool, true: str, false: str, documents: Any, world: Any, gather: Any
) -> None:
    """The 267 lines of more than one unit refute every rule that takes the price the other way."""
    con = gather(orders_of(documents, world, per_line=per_line))
    found = refuted(con)
    assert not found[true]
    assert found.get(false, True)
    (row,) = con.sql(
        """
        select scope, rule, verdict, fit_count, order_count, candidate_count, deciding_cases
        from audit.formula_populations where rule_target = 'subtotal'
        """
    ).fetchall()
    # No modifier has a price and no order a discount: what these do stays open, and all candidates agree.
    assert row == (
        "all orders",
        f"{true}/no_modifiers/all_add/before_discount/unrounded",
        "agreed",
        1834,
        1834,
        39,
        ["an order with a priced modifier", "an order with a discount"],
    )
    assert con.sql("select distinct subtotal_basis from audit.order_rules").fetchall() == [("agreed",)]


@pytest.mark.slow
def test_the_wrong_way_gives_the_known_wrong_sum(documents: Any, world: Any, gather: Any) -> None:
    """The right rule adds up to the published sum; a line's total taken for a unit's price overstates as published."""
    expected = json.loads((CHIPOTLE / "expected.json").read_text(encoding="utf-8"))
    query = "select sum(price * quantity) from workings.order_line_sums"
    (right,) = gather(orders_of(documents, world, per_line=False)).sql(query).fetchone()
    (wrong,) = gather(orders_of(documents, world, per_line=True)).sql(query).fetchone()
    assert (str(right), str(wrong)) == (
        expected["sum_subtotal"] + "00",
        expected["sum_if_price_is_wrongly_taken_as_unit"] + "00",
    )


@pytest.mark.slow
def test_a_rule_fixed_by_hand_settles_what_the_orders_cannot(documents: Any, world: Any, gather: Any) -> None:
    """With [formula] subtotal_rule the user answers for modifiers and discounts; it fits every order."""
    rule = "unit_price/no_modifiers/all_add/before_discount/unrounded"
    con = gather(orders_of(documents, world, per_line=False), rules=[{"rule_target": "subtotal", "rule": rule}])
    assert con.sql("select distinct subtotal_rule, subtotal_basis from audit.order_rules").fetchall() == [
        (rule, "configured")
    ]
