"""workings.settlement_commissions: two rates, fixed and least amounts are no breaks; what differs from them is."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.sql.test_settlement_rates import lines, rates

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def priced(count: int, rate: str, **more: Any) -> list[dict[str, Any]]:
    """Return lines of a month, three a day, each of another amount of undivided gross."""
    made = lines(2, [1 + place // 3 for place in range(count)], "0")
    for row in made:
        gross = row["commission_bases"][0]
        row |= {"commission_bases": [gross, 0, 0], "commission_amount": charge(gross, rate), **more}
    return made


def charge(base: Decimal, rate: str, fixed: str = "0", least: str = "0") -> Decimal:
    """Return what a contract charges."""
    return max((base * Decimal(rate)).quantize(Decimal("0.01"), "ROUND_HALF_UP") + Decimal(fixed), Decimal(least))


def excesses(run_table: Run, rows: list[dict[str, Any]], **given: Any) -> list[tuple[int, Decimal]]:
    """Return the lines that do not agree, and by how much."""
    found = run_table("workings.settlement_commissions", {"workings.settlement_rows": rows, **given})
    return [
        (row["settlement_no"], row["charged_amount"] - row["expected_amount"])
        for row in found
        if not row["is_agreeing"]
    ]


def test_fixed_and_least_amounts_are_found(run_table: Run) -> None:
    """15% and 0.30; 20% and at least 4.10, which two lines are charged; one line that is charged more is none of it."""
    for rate, fixed, least in (("0.15", "0.30", "0"), ("0.2", "0", "4.10"), ("0.1", "0.5", "2"), ("0.25", "0", "0")):
        rows = priced(60, rate)
        for row in rows:
            row["commission_amount"] = charge(row["gross_amount"], rate, fixed, least)
        assert excesses(run_table, rows) == []
        rows[7]["commission_amount"] += Decimal("1.11")
        assert excesses(run_table, rows) == [(9, Decimal("1.11"))]
        (found,) = rates(run_table, *rows)
        assert (found[3], found[4]) == (Decimal(rate), True)


def test_rates_of_dispatch_methods_are_apart(run_table: Run) -> None:
    """12% of pickups beside 30%: of a pickup at 30% it is a break; without a method both are fine."""
    rows = priced(60, "0.3")
    for row in rows[::6]:
        row["commission_amount"] = charge(row["gross_amount"], "0.12")
    assert excesses(run_table, rows) == []
    orders = [
        {"order_id": row["settlement_no"], "platform": "web", "total_price": row["gross_amount"]}
        | {"dispatch_method": "pick_up" if place % 6 == 0 else "store_delivery"}
        for place, row in enumerate(rows)
    ]
    pairs = [
        {"entry_no": 1, "settlement_no": row["settlement_no"], "order_id": row["settlement_no"]}
        | {"match_state": "matched", "match_rule": "order_id"}
        for row in rows
    ]
    given = {"mart.orders": orders, "workings.settlement_pairs": pairs}
    assert excesses(run_table, rows, **given) == []
    right, rows[12]["commission_amount"] = rows[12]["commission_amount"], charge(rows[12]["gross_amount"], "0.3")
    assert excesses(run_table, rows, **given) == [(14, rows[12]["commission_amount"] - right)]


def test_undivided_gross_has_the_parts_of_its_order(run_table: Run) -> None:
    """20% of the items, which the platform does not state: our order's subtotal is the base."""
    rows = priced(20, "0.2")
    orders = [
        {"order_id": row["settlement_no"], "platform": "web", "total_price": row["gross_amount"]}
        | {"subtotal_price": row["gross_amount"] - 2 - place % 3, "discount": 0, "loyalty_discount": 0}
        for place, row in enumerate(rows)
    ]
    pairs = [
        {"entry_no": 1, "settlement_no": row["settlement_no"], "order_id": row["settlement_no"]}
        | {"match_state": "matched", "match_rule": "short_number"}
        for row in rows
    ]
    for row, order in zip(rows, orders, strict=True):
        row["commission_amount"] = charge(order["subtotal_price"], "0.2")
    given = {"mart.orders": orders, "workings.settlement_pairs": pairs}
    ((*_, base, rate, is_in_force, agreeing, _),) = rates(run_table, *rows, given=given)
    assert (base, rate, is_in_force, agreeing) == ("items", Decimal("0.2"), True, 20)
    rows[3]["commission_amount"] += Decimal("0.01")
    assert excesses(run_table, rows, **given) == [(5, Decimal("0.01"))]
