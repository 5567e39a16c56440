"""Matching: every line of four made-up platforms is matched as the truth says, and the usual shortcuts would not be."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pipelines.report.settlement_views import order_settlements
from tests.settlements.statements import CHANGED, RATES

if TYPE_CHECKING:
    import duckdb

    from tests.settlements.statements import World


def test_every_line_is_matched_as_the_truth_says(con: duckdb.DuckDBPyConnection, made: World) -> None:
    """By id, short number, amount and time, or period: state and orders of each source row."""
    found = {
        (file, row): (state, set(orders))
        for file, row, state, orders in con.execute(
            "select distinct statements.file, lines.source_row, matches.match_state, matches.candidate_order_ids "
            "from mart.settlement_lines as lines inner join mart.settlement_matches as matches using (match_id) "
            "inner join mart.settlement_statements as statements on lines.entry_no = statements.entry_no "
            "and lines.statement_ref is not distinct from statements.statement_ref"
        ).fetchall()
    }
    assert found.keys() == made.truth.keys()
    wrong = {
        key: (found[key], truth)
        for key, truth in made.truth.items()
        if found[key][0] != truth[0] or (found[key][1] != truth[1] and len(truth[1]) <= 20)
    }
    assert wrong == {}
    assert {state for state, _ in made.truth.values()} == {
        "matched",
        "group",
        "one_of",
        "differs",
        "settled_twice",
        "not_ours",
        "not_a_sale",
        "no_order",
    }


def test_rates_change_where_the_truth_changes_them(con: duckdb.DuckDBPyConnection) -> None:
    """One store keeps its rate, the other's changes in the third week; both are in force, with one exception."""
    rates = con.execute(
        "select store_id, base, rate, is_in_force, sum(exception_count) from mart.settlement_rates "
        "where platform = 'dashline' group by all order by store_id, min(from_date)"
    ).fetchall()
    assert [(store, base, rate, is_in_force) for store, base, rate, is_in_force, _ in rates] == [
        (1, "gross", RATES[1][0], True),
        (2, "gross", RATES[2][0], True),
        (2, "gross", RATES[2][1], True),
    ]


def test_breaks_are_those_of_the_truth(con: duckdb.DuckDBPyConnection, made: World) -> None:
    """A commission at another rate by its excess; an order settled late by its amount; nothing else is either."""
    select = "select order_id, amount from audit.settlement_breaks where break_kind = ? and platform = 'dashline'"
    found = {kind: dict(con.execute(select, [kind]).fetchall()) for kind in ("wrong_commission", "late")}
    totals = {each["order_id"]: each["total_price"] for each in made.orders}
    assert found == {"wrong_commission": made.overcharged, "late": {order: totals[order] for order in made.late}}


def test_explain_says_the_commission_expected_and_charged(con: duckdb.DuckDBPyConnection, made: World) -> None:
    """Rates in per cent, both amounts and their difference; of an order at the rate in force they are the same."""
    ((order_id, excess),) = made.overcharged.items()
    (order,) = (each for each in made.orders if each["order_id"] == order_id)
    gross, rate = order["total_price"], RATES[order["store_id"]][order["business_date"] >= CHANGED]
    charged = (gross * Decimal("0.2")).quantize(Decimal("0.01"))
    said = " ".join(" ".join(order_settlements(con, order_id)).split())
    assert f"{charged} charged ({charged / gross:.2%} of gross), {charged - excess} expected ({rate:.2%} since" in said
    assert f"{excess} too much" in said
    other = con.execute(
        "select min(order_id) from mart.order_settlements where settlement_state = 'settled' and platform = 'dashline' "
        f"and settled_again_amount = 0 and order_id not in ({order_id})"
    ).fetchall()[0][0]
    assert "expected (15.00% since 2026-09-2" in (said := " ".join(" ".join(order_settlements(con, other)).split()))
    assert said.count("the same") == 1


def test_amounts_are_certain_where_orders_are_not(con: duckdb.DuckDBPyConnection) -> None:
    """Of n orders and m settlements of one amount the lesser is matched in amount; the rest is the difference."""
    found = con.execute(
        "select order_count, settlement_count, our_amount, matched_amount, difference from mart.settlement_matches "
        "where match_rule = 'amount_and_time' and match_state = 'one_of'"
    ).fetchall()
    assert found
    for orders, settlements, ours, matched, difference in found:
        assert difference == (orders - settlements) * ours / orders != 0
        assert matched == min(orders, settlements) * ours / orders
